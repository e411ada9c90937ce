"""The node's side of the edge feed: reads records from NATS into the store, sends them to nginx, and reports
the applied revision to the control plane.

It is independent of the agent: what fails here is retried and never stops a command.
"""

import asyncio
import contextlib
from collections.abc import Sequence

import nats.errors
import structlog

from stead.edge.admin import EdgeAdmin
from stead.node.drivers.layout import edge_store
from stead.node.feed.nginx_updater import NginxUpdater
from stead.node.feed.record_decoder import RecordDecoder
from stead.node.feed.record_server import RecordServer
from stead.node.feed.record_source import RecordSource
from stead.node.feed.record_store import RecordStore
from stead.node.feed.run_directory import ADMIN_SOCKET, STORE_SOCKET, prepare_run_directory
from stead.node.nats_connection import NatsConnection
from stead.node.settings import Settings
from stead.protocol import subjects
from stead.protocol.edge_records import MAX_SKIPPED_KEYS, AppliedRevision, encode
from stead.shared.cancellation import raise_if_cancelled
from stead.shared.edge_keys import hop_key, preview_key

PAUSE, LONGEST_PAUSE = 0.5, 10.0
ACK_SECONDS = 5.0
EXPIRE_SECONDS = 3600.0
REPEAT_SECONDS = 5.0

log = structlog.get_logger()


class EdgeFeedClient:
    def __init__(self, settings: Settings, connection: NatsConnection) -> None:
        self._settings, self._connection = settings, connection
        self._applied = self._reported = AppliedRevision(settings.node_id, settings.node_region, 0)
        self._changed = asyncio.Event()

    @property
    def skipped(self) -> int:
        """How many records do not fit in nginx's memory."""
        return self._applied.skipped

    async def run(self) -> None:
        """Runs until it is cancelled."""
        pause = PAUSE
        while True:
            try:
                await self._run()
            except Exception as error:  # noqa: BLE001
                log.error("feed.failed", errors=_error_names(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _run(self) -> None:
        settings = self._settings
        run = prepare_run_directory(settings.data)
        store, nginx = RecordStore(edge_store(settings.data)), EdgeAdmin(run / ADMIN_SOCKET)
        keys = settings.certificate_keys
        decoder = RecordDecoder(keys)
        own_key = settings.private_key
        updater = NginxUpdater(
            store,
            nginx,
            decoder,
            self._set_applied,
            hop_keys=tuple(map(hop_key, keys)),
            preview_key=preview_key(own_key) if own_key is not None else None,
        )
        source = RecordSource(self._connection, store, settings.node_id, settings.node_region, updater.wake)
        server = RecordServer(store, decoder, settings.node_region)
        try:
            async with server.listen(run / STORE_SOCKET), asyncio.TaskGroup() as tasks:
                tasks.create_task(source.run())
                tasks.create_task(updater.run())
                tasks.create_task(self._report_applied())
                tasks.create_task(_expire_purges(store, updater))
        finally:
            await nginx.close()
            store.close()

    def _set_applied(self, revision: int, skipped: Sequence[str]) -> None:
        latest = tuple(skipped[-MAX_SKIPPED_KEYS:])
        self._applied = AppliedRevision(
            self._settings.node_id, self._settings.node_region, revision, len(skipped), latest
        )
        self._changed.set()

    async def _wait_for_change(self, seconds: float) -> None:
        self._changed.clear()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._changed.wait()

    async def _report_applied(self) -> None:
        """Report each revision that nginx has applied, until NATS has stored the report. The last report is
        repeated: another client can replace it by causing NATS to send a reply to its subject."""
        subject = subjects.applied(self._settings.node_id)
        while True:
            raise_if_cancelled()
            if self._reported == self._applied:
                await self._wait_for_change(REPEAT_SECONDS)
                if not self._applied.revision:
                    continue
            report = self._applied
            jetstream = await self._connection.jetstream()
            try:
                await jetstream.publish(subject, encode(report), timeout=ACK_SECONDS)
            except (nats.errors.Error, OSError) as error:
                log.info("applied.delayed", error=type(error).__name__)
                await asyncio.sleep(PAUSE)
            else:
                self._reported = report


async def _expire_purges(store: RecordStore, updater: NginxUpdater) -> None:
    while True:
        if expired := store.expire_purges():
            log.info("purges.expired", purges=expired)
            updater.wake()
        await asyncio.sleep(EXPIRE_SECONDS)


def _error_names(error: BaseException) -> list[str]:
    if isinstance(error, BaseExceptionGroup):
        return [name for inner in error.exceptions for name in _error_names(inner)]
    return [type(error).__name__]
