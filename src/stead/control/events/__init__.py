"""The feed of events, and their way out of the outbox."""
