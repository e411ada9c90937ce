"""Limits how often something is done, with some in reserve."""

import time
from collections.abc import Callable


class TokenBucket:
    """`burst` at once, then `rate` in a second."""

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._rate, self._burst, self._clock = rate, burst, clock
        self._left, self._since = float(burst), clock()

    def take(self) -> bool:
        """Whether it may be done now."""
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._since) * self._rate)
        self._since = now
        if self._left < 1:
            return False
        self._left -= 1
        return True

    def charge(self, amount: float) -> None:
        """What something has cost in addition, which is known afterwards."""
        self._left -= amount


class TokenBuckets:
    """One for each name. Those that were used first are forgotten when there are too many."""

    def __init__(
        self,
        rate: float,
        burst: int,
        clock: Callable[[], float] = time.monotonic,
        most: int = 10_000,
    ) -> None:
        self._rate, self._burst, self._clock, self._most = rate, burst, clock, most
        self._buckets: dict[str, TokenBucket] = {}

    def take(self, name: str) -> bool:
        return self._find(name).take()

    def charge(self, name: str, amount: float) -> None:
        self._find(name).charge(amount)

    def _find(self, name: str) -> TokenBucket:
        bucket = self._buckets.get(name)
        if bucket is None:
            while len(self._buckets) >= self._most:
                self._buckets.pop(next(iter(self._buckets)))
            bucket = self._buckets[name] = TokenBucket(self._rate, self._burst, self._clock)
        return bucket
