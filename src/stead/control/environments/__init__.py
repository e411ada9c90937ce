"""Environments: production, and the clones of it."""
