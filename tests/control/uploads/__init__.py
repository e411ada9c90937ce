"""Uploads through the API."""
