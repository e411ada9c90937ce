"""Behaviour with millions of rows."""
