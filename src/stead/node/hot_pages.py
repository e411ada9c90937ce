"""Keeps the most visited pages of WordPress environments in the page cache of this node's edge.

The ledger says which pages are visited. They are fetched again before they expire, and after a purge if it
has removed them. Only environments that are awake are asked, and these requests are not visits: they come
through the socket for probes. So no environment stays awake or wakes because of them.
"""

import asyncio
import contextlib
import re
import time
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from stead.node.feed.record_store import HotEnvironment, find_hot_environments
from stead.node.uninterrupted import run_in_thread

ROUND_SECONDS = 5.0
PAUSE_SECONDS = 0.05
"""At most twenty pages a second on a node, one after the other."""
RESPONSE_SECONDS = 30.0
MAX_ENVIRONMENTS = 200
MAX_PATHS = 2_000
"""How many pages of an environment are counted."""
MAX_NEW = 50_000
FORGET_SECONDS = 3600.0
"""After this time the visits of the past count half."""
_CHUNK = 64 * 1024
_PATH = re.compile(r"/[!-~]{0,1000}")
"""The ledger cuts longer paths off."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Page:
    host: str
    path: str


@dataclass(slots=True)
class _Tracked:
    visits: Counter[Page] = field(default_factory=Counter)
    due: float = 0.0
    purges: tuple[int, int] | None = None
    """The revision of the last purge by a record, and the number of purges by the environment itself."""


class VisitedPages:
    """Collects visits to pages of the cache. The reader of the ledger adds to it from a thread."""

    def __init__(self) -> None:
        self._new: Counter[tuple[str, Page]] = Counter()

    def add(self, environment: str, host: str, path: str) -> None:
        if _PATH.fullmatch(path) is None:
            return
        key = environment, Page(host, path)
        if key in self._new or len(self._new) < MAX_NEW:
            self._new[key] += 1

    def take(self) -> Counter[tuple[str, Page]]:
        taken, self._new = self._new, Counter()
        return taken


class HotPages:
    def __init__(
        self,
        visited: VisitedPages,
        store: Path,
        region: str,
        probe_socket: Path,
        is_awake: Callable[[str], bool],
        count_purges: Callable[[str], int] = lambda _: 0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._visited, self._store, self._region, self._socket = visited, store, region, probe_socket
        self._is_awake, self._count_purges, self._clock = is_awake, count_purges, clock
        self._tracked: dict[str, _Tracked] = {}
        self._halved_at = clock()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            await asyncio.sleep(ROUND_SECONDS)
            await self.refresh_due()

    async def refresh_due(self) -> int:
        """Fetch the pages that are due. Returns the number of requests."""
        new = self._visited.take()
        hosts = {name: {page.host for page in each.visits} for name, each in self._tracked.items()}
        for environment, page in new:
            hosts.setdefault(environment, set()).add(page.host)
        if not hosts:
            return 0
        wanted = await run_in_thread(find_hot_environments, self._store, self._region, hosts)
        if wanted is None:
            return 0
        self._tracked = {name: each for name, each in self._tracked.items() if name in wanted}
        self._count(new, wanted)
        sent = 0
        for name, tracked in self._tracked.items():
            if self._is_awake(name):
                purges = wanted[name].purged, self._count_purges(name)
                sent += await self._refresh(tracked, wanted[name], purges)
        return sent

    def _count(self, new: Counter[tuple[str, Page]], wanted: Collection[str]) -> None:
        for (environment, page), visits in new.items():
            if environment not in wanted:
                continue
            tracked = self._tracked.get(environment)
            if tracked is None:
                if len(self._tracked) >= MAX_ENVIRONMENTS:
                    continue
                tracked = self._tracked[environment] = _Tracked()
            if page in tracked.visits or len(tracked.visits) < MAX_PATHS:
                tracked.visits[page] += visits
        if self._clock() - self._halved_at > FORGET_SECONDS:
            self._halved_at = self._clock()
            for tracked in self._tracked.values():
                tracked.visits = Counter({page: n // 2 for page, n in tracked.visits.items() if n > 1})

    async def _refresh(self, tracked: _Tracked, wanted: HotEnvironment, purges: tuple[int, int]) -> int:
        is_due, was_purged = self._clock() >= tracked.due, tracked.purges != purges
        if not is_due and not was_purged:
            return 0
        tracked.purges = purges
        if is_due:
            tracked.due = self._clock() + wanted.interval
        sent = 0
        for page, _ in tracked.visits.most_common(wanted.pages):
            scheme = "https" if page.host in wanted.secure_hosts else "http"
            with contextlib.suppress(OSError, TimeoutError):
                # After a purge, only pages that it has removed are fetched.
                await self._request(page, f"{scheme} refresh" if is_due else scheme)
            sent += 1
            await asyncio.sleep(PAUSE_SECONDS)
        return sent

    async def _request(self, page: Page, wanted: str) -> None:
        lines = [f"GET {page.path} HTTP/1.1", f"Host: {page.host}", f"X-Stead-Warm: {wanted}"]
        async with asyncio.timeout(RESPONSE_SECONDS):
            reader, writer = await asyncio.open_unix_connection(self._socket)
            try:
                writer.write("\r\n".join([*lines, "Connection: close", "", ""]).encode())
                while await reader.read(_CHUNK):
                    continue
            finally:
                writer.close()
