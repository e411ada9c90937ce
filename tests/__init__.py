"""Tests on real engines: one stack per run, one database per worker."""
