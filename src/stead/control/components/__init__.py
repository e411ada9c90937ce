"""Plugins and themes of sites."""
