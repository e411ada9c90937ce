"""Builds: from a commit or an archive to a signed artifact."""
