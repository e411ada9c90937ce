"""Purges pages of the node's own edge on behalf of WordPress sites.

Only the edge of the node that hosts a site caches its pages, and it loses purges only together with them. So
a purge needs no record and no other program: it is one request to nginx for all sites that have changed.
"""

import asyncio
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from stead.edge.admin import AdminFailed, EdgeAdmin, NodePurge

MAX_TAGS = 64
"""An environment with more tags than this that wait has all its pages purged."""
PAUSE_SECONDS = 0.2
"""Purges of the same environment are collected for so long after the first one."""
BATCH = 200
MAX_EVENTS = 10
FIRST_RETRY, LONGEST_RETRY = 0.5, 10.0

log = structlog.get_logger()


@dataclass
class _Waiting:
    tags: set[str] | None = field(default_factory=set)
    """None for all pages."""
    done: list[asyncio.Event] = field(default_factory=lambda: [asyncio.Event()])
    """For those who wait: the last one, and those of earlier attempts."""

    def add(self, tags: Collection[str] | None) -> None:
        if self.tags is None or tags is None:
            self.tags = None
            return
        self.tags.update(tags)
        if len(self.tags) > MAX_TAGS:
            self.tags = None

    def purge(self, environment: str) -> NodePurge:
        return NodePurge(environment, None if self.tags is None else tuple(sorted(self.tags)))


class PurgeQueue:
    """`socket` is the admin socket of nginx."""

    def __init__(self, socket: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._socket, self._clock = socket, clock
        self._waiting: dict[str, _Waiting] = {}
        self._not_before: dict[str, float] = {}
        self._added = asyncio.Event()
        self._done: dict[str, int] = {}

    def count(self, environment: str) -> int:
        """How often pages of the environment were purged."""
        return self._done.get(environment, 0)

    def forget(self, environment: str) -> None:
        self._done.pop(environment, None)

    def add(self, environment: str, tags: Collection[str] | None) -> asyncio.Event:
        """Purge the pages with one of the tags; None for all pages. The event is set when it is done."""
        waiting = self._waiting.setdefault(environment, _Waiting())
        waiting.add(tags)
        self._added.set()
        return waiting.done[-1]

    async def run(self) -> None:
        """Runs until it is cancelled."""
        retry = FIRST_RETRY
        async with EdgeAdmin(self._socket) as edge:
            while True:
                await self._wait()
                batch = self._take_due()
                if not batch:
                    continue
                try:
                    result = await edge.purge(each.purge(name) for name, each in batch.items())
                except AdminFailed as error:
                    log.warning("purges.delayed", reason=str(error), environments=len(batch))
                    self._put_back(batch)
                    await asyncio.sleep(retry)
                    retry = min(2 * retry, LONGEST_RETRY)
                    continue
                retry = FIRST_RETRY
                if result.refused:
                    log.warning("purges.refused", purges=result.refused)
                for name, each in batch.items():
                    self._done[name] = self.count(name) + 1
                    for event in each.done:
                        event.set()

    async def _wait(self) -> None:
        """Return when a purge may be due."""
        now = self._clock()
        self._not_before = {name: moment for name, moment in self._not_before.items() if moment > now}
        self._added.clear()
        pauses = [self._not_before.get(name, now) - now for name in self._waiting]
        if pauses and min(pauses) <= 0:
            return
        try:
            async with asyncio.timeout(min(pauses, default=None)):
                await self._added.wait()
        except TimeoutError:
            return

    def _take_due(self) -> dict[str, _Waiting]:
        now = self._clock()
        due = [name for name in self._waiting if self._not_before.get(name, now) <= now][:BATCH]
        self._not_before |= dict.fromkeys(due, now + PAUSE_SECONDS)
        return {name: self._waiting.pop(name) for name in due}

    def _put_back(self, batch: dict[str, _Waiting]) -> None:
        for name, each in batch.items():
            if later := self._waiting.get(name):
                each.add(later.tags)
                # Nobody waits for as long as so many attempts take.
                each.done = [*each.done, *later.done][-MAX_EVENTS:]
            self._waiting[name] = each
