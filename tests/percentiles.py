"""Percentiles of measured times."""

import statistics
from collections.abc import Sequence


def p99(seconds: Sequence[float]) -> float:
    return statistics.quantiles(seconds, n=100)[98]
