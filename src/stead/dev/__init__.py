"""Runs real engines and Stead's programs on one machine, for development and for tests."""
