"""Purging the page cache of an environment."""
