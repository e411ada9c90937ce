"""Webhooks: events sent to URLs of customers, signed and retried, only to public addresses."""
