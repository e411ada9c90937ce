"""What PostgreSQL tells at once: that a job has changed. One connection a process listens for all."""

import asyncio
import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
import structlog

log = structlog.get_logger()

RETRY_SECONDS = 0.5
CHANNEL = "jobs"


class Notices:
    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._task: asyncio.Task[None] | None = None
        self.any = asyncio.Event()
        """Set on every notice, whatever it is about."""

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
            await connection.add_listener(CHANNEL, lambda _c, _p, _ch, subject: self._tell(subject))
            self._tell_all()
            await gone.wait()
        finally:
            connection.terminate()

    def _tell(self, subject: str) -> None:
        self.any.set()
        for changed in self._watchers.get(subject, ()):
            changed.set()

    def _tell_all(self) -> None:
        """Something may have been missed while nobody was listening."""
        for subject in list(self._watchers):
            self._tell(subject)
        self.any.set()
