"""Uploads through the API: where to send what."""
