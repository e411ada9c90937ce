"""What PostgreSQL tells at once: a job has changed, there are events. One connection listens for all."""

import asyncio
import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
import structlog

log = structlog.get_logger()

RETRY_SECONDS = 0.5
JOBS, EVENTS = "jobs", "events"
"""Channels. A notice names a job on the one, `events` or `deliveries` on the other."""


class PostgresListener:
    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._task: asyncio.Task[None] | None = None
        self.any = asyncio.Event()
        """Set on every notice about a job, whichever it is."""

    def start(self) -> None:
        self._task = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @contextmanager
    def watching(self, subject: str) -> Iterator[asyncio.Event]:
        """An event that is set whenever this subject may have changed."""
        changed = asyncio.Event()
        self._watchers.setdefault(subject, set()).add(changed)
        try:
            yield changed
        finally:
            left = self._watchers[subject]
            left.discard(changed)
            if not left:
                del self._watchers[subject]

    async def _listen(self) -> None:
        while True:
            with contextlib.suppress(OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await self._listen_once()
            log.warning("notices.lost")
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen_once(self) -> None:
        connection: Any = await asyncpg.connect(self._url, timeout=5)
        gone = asyncio.Event()
        connection.add_termination_listener(lambda _: gone.set())
        try:
            for channel in (JOBS, EVENTS):
                await connection.add_listener(
                    channel, lambda _c, _p, channel, subject: self._hear(channel, subject)
                )
            self._tell_all()
            await gone.wait()
        finally:
            connection.terminate()

    def _hear(self, channel: str, subject: str) -> None:
        if channel == JOBS:
            self.any.set()
        self._tell(subject)

    def _tell(self, subject: str) -> None:
        for changed in self._watchers.get(subject, ()):
            changed.set()

    def _tell_all(self) -> None:
        """Something may have been missed while nobody was listening."""
        for subject in list(self._watchers):
            self._tell(subject)
        self.any.set()
