"""Benchmarks. Each prints a ratio to a baseline that is measured in the same run."""
