"""Secrets and plain variables of environments, which builds read as environment variables."""
