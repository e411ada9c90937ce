"""Notifications about events, in the app and by email."""
