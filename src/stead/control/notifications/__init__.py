"""Notifications: what people are told of what they own or help to run, in the app and by mail."""
