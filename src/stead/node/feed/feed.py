"""The feed as a whole: NATS into the store, the store to nginx, and word of it back to the control plane.

It stands beside the agent: whatever fails here is tried again and never stops a command.
"""

import asyncio

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
from stead.protocol.edge_records import AppliedRevision, encode
from stead.shared.cancellation import raise_if_cancelled

PAUSE, LONGEST_PAUSE = 0.5, 10.0
ACK_SECONDS = 5.0
TIDY_SECONDS = 3600.0

log = structlog.get_logger()


class EdgeFeedClient:
    def __init__(self, settings: Settings, link: NatsConnection) -> None:
        self._settings, self._link = settings, link
        self._applied, self._said = 0, 0
        self._news = asyncio.Event()

    async def run(self) -> None:
        """For ever."""
        pause = PAUSE
        while True:
            try:
                await self._run()
            except Exception as error:  # noqa: BLE001
                log.error("feed.failed", errors=_kinds(error))
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _run(self) -> None:
        settings = self._settings
        run = prepare_run_directory(settings.data)
        store, edge = RecordStore(edge_store(settings.data)), EdgeAdmin(run / ADMIN_SOCKET)
        wording = RecordDecoder(settings.certificate_key)
        teller = NginxUpdater(store, edge, wording, self._note)
        source = RecordSource(self._link, store, settings.node_id, settings.node_region, teller.wake)
        door = RecordServer(store, wording, settings.node_region)
        try:
            async with door.listening(run / STORE_SOCKET), asyncio.TaskGroup() as tasks:
                tasks.create_task(source.run())
                tasks.create_task(teller.run())
                tasks.create_task(self._say())
                tasks.create_task(_tidy(store, teller))
        finally:
            await edge.close()
            store.close()

    def _note(self, revision: int) -> None:
        self._applied = revision
        self._news.set()

    async def _say(self) -> None:
        """Only what nginx has said it applied; until the server has it."""
        settings = self._settings
        while True:
            raise_if_cancelled()
            while self._said == self._applied:
                self._news.clear()
                await self._news.wait()
            revision = self._applied
            word = encode(AppliedRevision(settings.node_id, settings.node_region, revision))
            jetstream = await self._link.jetstream()
            try:
                await jetstream.publish(subjects.applied(settings.node_id), word, timeout=ACK_SECONDS)
            except (nats.errors.Error, OSError) as error:
                log.info("applied.delayed", error=type(error).__name__)
                await asyncio.sleep(PAUSE)
            else:
                self._said = revision


async def _tidy(store: RecordStore, teller: NginxUpdater) -> None:
    while True:
        if expired := store.expire_purges():
            log.info("purges.expired", purges=expired)
            teller.wake()
        await asyncio.sleep(TIDY_SECONDS)


def _kinds(error: BaseException) -> list[str]:
    if isinstance(error, BaseExceptionGroup):
        return [kind for each in error.exceptions for kind in _kinds(each)]
    return [type(error).__name__]
