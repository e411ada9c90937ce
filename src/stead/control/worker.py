"""The worker process: runs jobs, receives messages from nodes, runs the features' tasks. Run any number."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Sequence

import structlog

from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import EdgeFeed, FeedUnavailable
from stead.control.engines.nats import NATS_UNREACHABLE, Nats
from stead.control.engines.nats_streams import ensure_consumers, ensure_streams
from stead.control.engines.object_store import ObjectStoreUnavailable
from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.engines.temporal import Orchestrator, run_until
from stead.control.environments import maintenance
from stead.control.feature import Feature
from stead.control.features import FEATURES, event_catalog, workflows
from stead.control.jobs.activities import Activities
from stead.control.jobs.dispatcher import CONNECTIONS, Dispatcher
from stead.control.nodes import service as nodes
from stead.control.nodes.gateway import Gateway
from stead.control.outbox import audit
from stead.control.sealing import Sealer
from stead.control.settings import Settings, object_store_of
from stead.control.tasks import LongRunningTask, TaskRunner, WorkerServices, in_transaction
from stead.protocol.commands import Activity, Heartbeat
from stead.protocol.subjects import Program
from stead.shared.clock import wall_clock

log = structlog.get_logger()

MEET_AGAIN_SECONDS = 60.0
OBJECTS_SECONDS = 2.0
HEARTBEAT_LOOKS, HEARTBEAT_LOOK_SECONDS = 20, 0.5


class WorkerProgram:
    def __init__(self, settings: Settings, features: Sequence[Feature] = FEATURES) -> None:
        self.settings, self._features = settings, features
        self.database = Database(settings.database_url, clock=wall_clock, size=settings.database_connections)
        self.dispatch_database = Database(settings.database_url, clock=wall_clock, size=CONNECTIONS)
        self.listener = PostgresListener(settings.database_url)
        self.nats = Nats(
            settings.nats_url,
            user=settings.nats_user,
            password=settings.nats_password,
            program=Program.WORKER,
        )
        self.gateway = Gateway(self.nats, self._record_heartbeat, self._record_visits)
        self.edge_feed = EdgeFeed(self.nats)
        self.announcer = Announcer(self.database, self.edge_feed, patience=settings.edge_patience)
        self.workflows = workflows(features)
        self.services = WorkerServices(
            database=self.database,
            objects=object_store_of(settings),
            sealer=Sealer.from_text(settings.sealing_key),
            settings=settings,
            listener=self.listener,
            announcer=self.announcer,
            transports=[transport for feature in features for transport in feature.transports],
            event_catalog=event_catalog(features),
        )
        self._introduced: dict[str, tuple[str, str, float]] = {}

    async def run(self, end: asyncio.Event) -> None:
        orchestrator = await Orchestrator.connect(self.settings.temporal_address, end)
        if orchestrator is None:
            return
        self.nats.start()
        self.listener.start()
        activities = Activities(
            self.services, self.workflows, self.gateway, self.announcer, self.settings.docs
        )
        with contextlib.suppress(*DATABASE_UNREACHABLE):
            await in_transaction(self.database, audit.maintain_partitions)
        tasks = TaskRunner(
            [
                LongRunningTask("nodes.receive", self._receive_from_nodes),
                LongRunningTask("objects.prepare", self._prepare_object_store),
                LongRunningTask(
                    "jobs.dispatch",
                    Dispatcher(self.dispatch_database, orchestrator, self.listener, self.workflows).run,
                ),
                *(
                    task
                    for feature in self._features
                    if feature.tasks
                    for task in feature.tasks(self.services)
                ),
            ]
        )
        tasks.start()
        try:
            await self._wait_for_heartbeats(end)
            await run_until(orchestrator.worker(activities.all), end)
        finally:
            await tasks.stop()
            await self.listener.stop()
            await self.nats.stop()
            await self.dispatch_database.close()
            await self.database.close()

    async def _receive_from_nodes(self) -> None:
        """Nodes can be heard and asked once NATS is connected and has its streams."""
        await self.nats.ready()
        await ensure_streams(self.nats)
        await self.gateway.start()
        log.info("worker.ready")

    async def _wait_for_heartbeats(self, end: asyncio.Event) -> None:
        """After all workers were down, wait a moment for the nodes: jobs would fail because no node is up."""
        for _ in range(HEARTBEAT_LOOKS):
            with contextlib.suppress(*DATABASE_UNREACHABLE):
                async with self.database.reading() as tx:
                    if end.is_set() or not await nodes.any_region_is_silent(tx):
                        return
            await asyncio.sleep(HEARTBEAT_LOOK_SECONDS)

    async def _prepare_object_store(self) -> None:
        """The object store may start later than this worker. Without one there is nothing to prepare."""
        while self.settings.s3_endpoint:
            try:
                await self.services.objects.ensure_bucket()
            except ObjectStoreUnavailable as error:
                log.warning("objects.unavailable", reason=str(error))
                await asyncio.sleep(OBJECTS_SECONDS)
            else:
                return

    async def _record_heartbeat(self, beat: Heartbeat) -> None:
        try:
            async with self.database.transaction() as tx:
                await nodes.seen(tx, beat)
        except DATABASE_UNREACHABLE as error:
            log.warning("node.unheard", node=beat.node, reason=type(error).__name__)
        try:
            await self._introduce(beat)
        except (FeedUnavailable, *NATS_UNREACHABLE, ValueError) as error:
            log.warning("node.unmet", node=beat.node, reason=type(error).__name__)

    async def _introduce(self, beat: Heartbeat) -> None:
        """Create what a new or moved node needs on NATS; repeated now and then, in case NATS lost it."""
        turn = time.monotonic() // MEET_AGAIN_SECONDS
        where = beat.region, beat.edge_address, turn
        if self._introduced.get(beat.node) == where:
            return
        admitted = await ensure_consumers(self.nats, beat.node, beat.region)
        if admitted and beat.edge_address:
            await self.edge_feed.publish_peer(beat.region, beat.node, beat.edge_address)
        self._introduced[beat.node] = where

    async def _record_visits(self, activity: Activity) -> None:
        try:
            async with self.database.transaction() as tx:
                await maintenance.record_visits(tx, activity)
        except DATABASE_UNREACHABLE as error:
            log.warning("visits.unheard", node=activity.node, reason=type(error).__name__)


async def run(settings: Settings, features: Sequence[Feature] = FEATURES) -> None:
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    await WorkerProgram(settings, features).run(end)
