"""Builds through the API: of what, for whom, and what is refused."""
