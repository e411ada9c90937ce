"""Builds: a commit or an archive becomes a signed artifact."""
