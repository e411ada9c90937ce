"""Builds through the API."""
