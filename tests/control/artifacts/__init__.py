"""Artifacts: who sees them, what is kept of them, whose room they take."""
