"""Benchmarks: each prints a ratio to the bare engine or to an easier case, both measured in the same run."""
