"""Webhooks: events pushed to addresses that customers name, signed, retried, and never anywhere private."""
