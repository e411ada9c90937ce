"""Environments of a site: production, staging and one per branch."""
