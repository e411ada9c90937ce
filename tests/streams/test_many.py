"""Five hundred clients of one process. The process is lost, and they all continue at the other one."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial

import psutil

from stead.control.engines.nats_reader import INACTIVE_SECONDS
from tests.faults.processes import eventually
from tests.streams.sse import Heard, Listener, listening
from tests.streams.stage import Stage

STREAMS, JOBS, LINES = 500, 25, 40
AT_ONCE = 50
BOUND = 60.0
IDLE = 6.0
"""Seconds without output: longer than a reader waits before it asks again."""
MEGABYTE = 1 << 20


async def _all(work: list[Callable[[], Awaitable[None]]]) -> None:
    """Connect a few at a time, so that the system's queue of new connections does not fill up."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(do: Callable[[], Awaitable[None]]) -> None:
        async with gate:
            await do()

    await asyncio.gather(*(one(do) for do in work))


class _Client:
    def __init__(self, stage: Stage, job: str) -> None:
        self.stage, self.job = stage, job
        self.lines: list[str] = []
        self.statuses: list[object] = []
        self.last = ""
        self._listener: Listener | None = None
        self._stack = AsyncExitStack()

    async def connect(self, port: int) -> None:
        coming = listening(port, self.job, self.stage.secret, after=self.last)
        self._listener = await self._stack.enter_async_context(coming)
        if not self.last:
            await self.listen(lambda heard: heard.statuses == ["running"])

    async def listen(self, holds: Callable[[Heard], bool]) -> None:
        assert self._listener is not None
        await self._listener.until(holds, within=BOUND)

    async def leave(self) -> bool:
        """Keep what was received and the last id. Return whether the stream was complete."""
        assert self._listener is not None
        heard = self._listener.heard
        self.lines, self.statuses = self.lines + heard.lines, self.statuses + heard.statuses
        self.last = heard.last_id or self.last
        await self._stack.aclose()
        return bool(heard.done)

    async def follow_to_the_end(self, port: int) -> None:
        """Reconnect until the end was received, like browsers do."""
        await self.listen(lambda heard: heard.ended)
        while not await self.leave():
            await self.connect(port)
            await self.listen(lambda heard: heard.ended)


async def test_five_hundred_streams_miss_nothing_across_a_reconnect(
    stage: Stage, record_property: Callable[..., None]
):
    jobs = [await stage.job(status="running") for _ in range(JOBS)]
    said = {job: [f"{job} {n}" for n in range(LINES)] for job in jobs}
    clients = [_Client(stage, jobs[n % JOBS]) for n in range(STREAMS)]
    readers, process = await stage.consumers(), psutil.Process(stage.one.pid)
    memory, began = process.memory_info().rss, time.monotonic()
    await _all([partial(each.connect, stage.one.port) for each in clients])
    connected = time.monotonic() - began
    grown = process.memory_info().rss - memory

    busy, began = _cpu(process), time.monotonic()
    await asyncio.gather(*(stage.say(job, said[job][: LINES // 2]) for job in jobs))
    await asyncio.gather(*(each.listen(lambda heard: len(heard.lines) >= LINES // 2) for each in clients))
    spent, heard_in = _cpu(process) - busy, time.monotonic() - began

    busy, began = _cpu(process), time.monotonic()
    await asyncio.sleep(IDLE)
    idle = (_cpu(process) - busy) / (time.monotonic() - began)

    await asyncio.gather(*(each.leave() for each in clients))
    await asyncio.gather(*(stage.say(job, said[job][LINES // 2 :]) for job in jobs))
    began = time.monotonic()
    await _all([partial(each.connect, stage.two.port) for each in clients])
    for job in jobs:
        await stage.update(job, status="succeeded")
    await asyncio.gather(*(each.follow_to_the_end(stage.two.port) for each in clients))
    resumed = time.monotonic() - began
    for each in clients:
        assert each.lines == said[each.job]
        assert each.statuses == ["running", "succeeded"]

    async def at_rest() -> bool:
        return await stage.consumers() <= readers

    # Readers delete their consumers at once (see test_consumers.py), the server those of a lost connection.
    await eventually(at_rest, within=INACTIVE_SECONDS + 20, what="no reader is left of a thousand that came")
    delivered = STREAMS * LINES // 2
    record_property(
        "figure",
        f"{STREAMS} job streams on one API process: {grown / STREAMS / 1024:.0f} KiB each, connected in"
        f" {connected:.1f} s; {delivered:,} lines delivered in {heard_in:.1f} s with {spent:.1f} s of CPU"
        f" ({1e6 * spent / delivered:.0f} µs a line); idle {100 * idle:.0f} % of a core;"
        f" resumed and ended on the second process in {resumed:.1f} s",
    )
    assert grown < STREAMS * MEGABYTE
    assert idle < 0.5


def _cpu(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
