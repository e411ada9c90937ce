"""Artifacts: retention and storage."""
