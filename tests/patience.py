"""Time limits that follow the speed of the machine.

A limit of 60 seconds means 60 seconds on an idle machine like the one that the limits were chosen on. While
more processes want to run than there are cores, on slower cores, or while the host gives a virtual machine
less than whole cores, the clock of a limit runs slower by that factor. What is waited for stays the same, and
something that never happens is still reported.
"""

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache, lru_cache
from pathlib import Path

REFERENCE_SECONDS = 0.020
"""CPU time of `_exercise` on the machine that the limits were chosen on."""
MEASURED_SECONDS = 0.2
"""How long a measurement counts."""
MOST = 12.0
"""However slow the machine is, a limit is not stretched further than this."""


class Patience:
    """A time limit of so many seconds, from now on."""

    def __init__(self, seconds: float) -> None:
        self._left, self._since = seconds, time.monotonic()

    @property
    def is_over(self) -> bool:
        now = time.monotonic()
        self._left -= (now - self._since) / slowdown()
        self._since = now
        return self._left <= 0


@asynccontextmanager
async def time_limit(seconds: float) -> AsyncIterator[None]:
    """Like `asyncio.timeout`, but the limit follows the speed of the machine."""
    async with asyncio.timeout(None) as limit:
        watching = asyncio.create_task(_end_when_over(limit, Patience(seconds)))
        try:
            yield
        finally:
            watching.cancel()


async def _end_when_over(limit: asyncio.Timeout, patience: Patience) -> None:
    while not patience.is_over:  # noqa: ASYNC110 - nothing announces that time has passed
        await asyncio.sleep(0.2)
    limit.reschedule(asyncio.get_running_loop().time())


def slowdown() -> float:
    """How many times slower than the reference this machine is at the moment; never less than one. Measured
    a few times in a second, however many ask."""
    return _measure(int(time.monotonic() / MEASURED_SECONDS))


@lru_cache(maxsize=1)
def _measure(_moment: int) -> float:
    load, runnable = _demand()
    waiting = max(load, runnable) / (os.cpu_count() or 1)
    return min(MOST, max(1.0, waiting) * _core_slowdown() / (1 - _stolen.share))


def _demand() -> tuple[float, int]:
    """The load average of the last minute, and how many processes want to run right now."""
    fields = Path("/proc/loadavg").read_text().split()
    return float(fields[0]), int(fields[3].partition("/")[0])


class StolenTime:
    """The share of the wanted time of the processors that the host has given to others lately."""

    LEAST_TICKS = 100
    """Fewer, half a second of two busy processors, say little."""
    LONGEST_SECONDS = 3.0
    """On an idle machine there are few, and what was long ago says less."""

    def __init__(self) -> None:
        self._ticks, self._stolen = _read_ticks()
        self._since = time.monotonic()
        self._share = 0.0

    @property
    def share(self) -> float:
        ticks, stolen = _read_ticks()
        passed, now = ticks - self._ticks, time.monotonic()
        if passed >= self.LEAST_TICKS or now - self._since > self.LONGEST_SECONDS:
            self._share = min(0.9, (stolen - self._stolen) / max(passed, 1))
            self._ticks, self._stolen, self._since = ticks, stolen, now
        return self._share


def _read_ticks() -> tuple[int, int]:
    """In how many of them something ran or wanted to run, since the start of the machine, and how many were
    stolen."""
    user, nice, system, _idle, _waiting, *interrupts, stolen = (
        int(each) for each in Path("/proc/stat").read_text().split(maxsplit=9)[1:9]
    )
    return sum((user, nice, system, *interrupts, stolen)), stolen


_stolen = StolenTime()


@cache
def _core_slowdown() -> float:
    return max(1.0, min(_exercise() for _ in range(3)) / REFERENCE_SECONDS)


def _exercise() -> float:
    """The CPU time of some work; waiting for a core does not count."""
    began = time.process_time()
    counts: dict[int, int] = {}
    for number in range(100_000):
        counts[number % 97] = counts.get(number % 97, 0) + number
    return time.process_time() - began
