"""The whole installation over a long time."""
