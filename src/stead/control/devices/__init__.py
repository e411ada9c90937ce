"""Signing in on devices without a browser."""
