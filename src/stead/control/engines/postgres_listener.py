"""Listens for PostgreSQL notifications (NOTIFY) about jobs and events, with one connection per process."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import asyncpg
import structlog

from stead.shared.cancellation import cancel_all

log = structlog.get_logger()

RETRY_SECONDS = 0.5
JOBS, EVENTS = "jobs", "events"
"""Channels. The payload is a job id on the first, `events` or `deliveries` on the second."""


class PostgresListener:
    def __init__(self, database_url: str) -> None:
        self._url = database_url
        self._watchers: dict[str, set[asyncio.Event]] = {}
        self._task: asyncio.Task[None] | None = None
        self.job_changed = asyncio.Event()
        """Set on every notification about any job."""

    def start(self) -> None:
        self._task = asyncio.create_task(self._listen())

    async def stop(self) -> None:
        await cancel_all([self._task])

    @contextmanager
    def watching(self, subject: str) -> Iterator[asyncio.Event]:
        """Yield an event that is set whenever this subject may have changed."""
        changed = asyncio.Event()
        self._watchers.setdefault(subject, set()).add(changed)
        try:
            yield changed
        finally:
            watchers = self._watchers[subject]
            watchers.discard(changed)
            if not watchers:
                del self._watchers[subject]

    async def _listen(self) -> None:
        while True:
            reason = "closed"
            try:
                await self._listen_once()
            except Exception as error:  # noqa: BLE001 - otherwise this process would never be notified again
                reason = type(error).__name__
            log.warning("listener.lost", reason=reason)
            await asyncio.sleep(RETRY_SECONDS)

    async def _listen_once(self) -> None:
        connection: Any = await asyncpg.connect(self._url, timeout=5)
        closed = asyncio.Event()
        connection.add_termination_listener(lambda _: closed.set())
        try:
            for channel in (JOBS, EVENTS):
                await connection.add_listener(
                    channel, lambda _c, _p, channel, subject: self._on_notification(channel, subject)
                )
            self._wake_all()
            await closed.wait()
        finally:
            connection.terminate()

    def _on_notification(self, channel: str, subject: str) -> None:
        if channel == JOBS:
            self.job_changed.set()
        self._wake(subject)

    def _wake(self, subject: str) -> None:
        for changed in self._watchers.get(subject, ()):
            changed.set()

    def _wake_all(self) -> None:
        """After a new connection: notifications may have been missed while there was none."""
        for subject in list(self._watchers):
            self._wake(subject)
        self.job_changed.set()
