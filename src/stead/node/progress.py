"""Reports the progress of long work in the output of its job, by bytes and not too often."""

import time
from collections.abc import Callable

from stead.node.drivers.driver import Output

FIRST_SECONDS, LONGEST_SECONDS = 2.0, 30.0
"""The pause between two reports grows, so that an hour of work has about a hundred lines."""
_MB = 1 << 20


class Progress:
    """`total` is an estimate; 0 if it is not known."""

    def __init__(
        self, output: Output, what: str, total: int = 0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._output, self._what, self._total, self._clock = output, what, total, clock
        self._began = self._last = clock()
        self._pause = FIRST_SECONDS

    async def report(self, done: int) -> None:
        if self._clock() - self._last < self._pause:
            return
        self._last, self._pause = self._clock(), min(self._pause * 1.2, LONGEST_SECONDS)
        of = f" of about {self._total / _MB:.1f}" if self._total > done else ""
        await self.say(f"{done / _MB:.1f}{of} MB")

    async def finish(self, done: int) -> None:
        await self.say(f"{done / _MB:.1f} MB in {self._clock() - self._began:.1f} s")

    async def say(self, text: str) -> None:
        await self._output.say(f"{self._what}: {text}")
