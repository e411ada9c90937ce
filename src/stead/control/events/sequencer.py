"""The sequencer numbers committed events and passes them to the transports.

Every worker runs one; a database lock ensures that only one works at a time.
"""

import asyncio
from collections.abc import Sequence

import structlog

from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.events import service
from stead.control.outbox.event_types import EventCatalog
from stead.control.outbox.transports import Transport

log = structlog.get_logger()

SWEEP_SECONDS = 1.0


class Sequencer:
    def __init__(
        self,
        database: Database,
        listener: PostgresListener,
        transports: Sequence[Transport],
        catalog: EventCatalog,
    ) -> None:
        self._database, self._listener = database, listener
        self._transports, self._catalog = transports, catalog

    async def run(self) -> None:
        """Process events when PostgreSQL announces new ones, and at least every second."""
        with self._listener.watching("events") as published:
            while True:
                published.clear()
                try:
                    while await self.process_batch():
                        pass
                except DATABASE_UNREACHABLE as error:
                    log.warning("events.postponed", reason=type(error).__name__)
                    await asyncio.sleep(SWEEP_SECONDS)
                except Exception as error:  # noqa: BLE001 - the sequencer must go on after any failure
                    log.error("events.failed", reason=type(error).__name__)
                    await asyncio.sleep(SWEEP_SECONDS)
                try:
                    async with asyncio.timeout(SWEEP_SECONDS):
                        await published.wait()
                except TimeoutError:
                    continue

    async def process_batch(self) -> int:
        """Process the next events in one transaction. Return how many there were."""
        async with self._database.transaction() as tx:
            return await service.number_events(tx, self._transports, self._catalog)
