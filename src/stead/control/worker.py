"""The worker process: runs jobs, receives messages from nodes and runs the tasks of features.

Any number of workers can run at the same time.
"""

import asyncio
import contextlib
import math
import signal
import time
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Any

import structlog

from stead.control import metrics
from stead.control.access.sign_ins import SignIns
from stead.control.certificates.edge_records import CertificateRecords
from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import EdgeFeed, FeedUnavailable
from stead.control.edge_feed.lag import measure_lag
from stead.control.edge_feed.republishing import Republisher
from stead.control.edge_feed.restoration import FeedRestorer
from stead.control.engines.nats import NATS_UNREACHABLE, Nats
from stead.control.engines.nats_streams import (
    ensure_commands_consumer,
    ensure_edge_consumer,
    ensure_streams,
    list_missing,
)
from stead.control.engines.object_store import ObjectStoreUnavailable
from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.engines.temporal import Orchestrator, run_until
from stead.control.environments import captured_mail, maintenance
from stead.control.feature import Feature
from stead.control.features import FEATURES, event_catalog, workflows
from stead.control.functions import rate_limits
from stead.control.functions.state_answers import StateAnswers
from stead.control.http.website import health_site
from stead.control.insights.platform_reports import PlatformReporter
from stead.control.insights.receiver import ChunkReceiver
from stead.control.jobs import measurements
from stead.control.jobs.activities import Activities
from stead.control.jobs.dispatcher import CONNECTIONS, Dispatcher
from stead.control.malware import scheduling as scanning
from stead.control.nodes import service as nodes
from stead.control.nodes.gateway import Gateway
from stead.control.nodes.rules import NodeBefore
from stead.control.nodes.sessions import receive_sessions
from stead.control.outbox import audit
from stead.control.sealing import Sealer
from stead.control.settings import Settings, object_store_of, repository_gateway_of
from stead.control.tasks import (
    LongRunningTask,
    PeriodicTask,
    PreparationTask,
    Task,
    TaskRunner,
    WorkerServices,
    in_transaction,
)
from stead.protocol.commands import Activity, Heartbeat, MailReport
from stead.protocol.platform import REPORT_SECONDS
from stead.protocol.subjects import Program
from stead.protocol.work import supports_hosting
from stead.shared.clock import Clock, wall_clock

log = structlog.get_logger()

REGISTER_AGAIN_SECONDS = 60.0
OBJECT_STORE_RETRY_SECONDS = 2.0
HEARTBEAT_ATTEMPTS, HEARTBEAT_RETRY_SECONDS = 20, 0.5
OTHER_HEARTBEATS_SECONDS = 2.0
CHECK_SECONDS = 5.0
MEASURE_SECONDS = 10.0


class WorkerProgram:
    def __init__(
        self, settings: Settings, features: Sequence[Feature] = FEATURES, *, clock: Clock = wall_clock
    ) -> None:
        self.settings, self._features = settings, features
        self.database = Database(settings.database_url, clock=clock, size=settings.database_connections)
        self.dispatch_database = Database(settings.database_url, clock=clock, size=CONNECTIONS)
        self.listener = PostgresListener(settings.database_url)
        self.nats = Nats(
            settings.nats_url,
            user=settings.nats_user,
            password=settings.nats_password,
            program=Program.WORKER,
        )
        self.gateway = Gateway(self.nats, self._record_heartbeat, self._record_visits, self._record_mail)
        self.sign_ins = SignIns(self.nats, self.database)
        self.function_state = StateAnswers(self.nats, self.database)
        self.edge_feed = EdgeFeed(self.nats)
        self.announcer = Announcer(self.database, self.edge_feed, patience=settings.edge_patience)
        self.workflows = workflows(features)
        self.services = WorkerServices(
            database=self.database,
            objects=object_store_of(settings),
            sealer=Sealer.from_text(settings.sealing_key),
            repositories=repository_gateway_of(settings),
            settings=settings,
            listener=self.listener,
            announcer=self.announcer,
            gateway=self.gateway,
            could_hear_nodes_for=self._could_hear_nodes_for,
            transports=[transport for feature in features for transport in feature.transports],
            event_catalog=event_catalog(features),
            nats=self.nats,
        )
        self.chunk_receiver = ChunkReceiver(
            self.nats, self.database, self.services.objects, wanted=bool(settings.clickhouse_url)
        )
        self.platform_reporter = PlatformReporter(self.nats, Program.WORKER, metrics.WORKER)
        certificates = CertificateRecords(self.services.sealer, settings.edge_master_key)
        self.feed_restorer = FeedRestorer(
            Republisher(self.database, self.edge_feed, certificates.build),
            self._create_missing_streams,
            self._forget_registrations,
        )
        self._registered: dict[str, tuple[str, str | None, datetime, float]] = {}
        self._logged: dict[str, float] = {}
        self._not_recorded_at = -math.inf
        """When a heartbeat could not be recorded, because the database was down."""
        self._tasks = TaskRunner([])
        self._reaches_database = self._reaches_temporal = False

    async def run(self, end: asyncio.Event) -> None:
        orchestrator = await Orchestrator.connect(
            self.settings.temporal_address,
            end,
            namespace=self.settings.temporal_namespace,
            tls=self.settings.temporal_tls,
        )
        if orchestrator is None:
            return
        self.nats.start()
        self.listener.start()
        activities = Activities(
            self.services,
            self.workflows,
            self.gateway,
            self.announcer,
            self.settings.docs,
            self.services.could_hear_nodes_for,
        )
        with contextlib.suppress(*DATABASE_UNREACHABLE):
            await in_transaction(self.database, audit.maintain_partitions)
        tasks = self._tasks = TaskRunner(
            [
                *self.own_tasks,
                PeriodicTask("temporal.check", CHECK_SECONDS, partial(self._check_temporal, orchestrator)),
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
        measurements.declare_kinds(self.workflows)
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

    @property
    def own_tasks(self) -> list[Task]:
        return [
            PreparationTask("nodes.receive", self._receive_from_nodes),
            LongRunningTask("edge_feed.restore", self.feed_restorer.run),
            LongRunningTask("sessions.receive", partial(receive_sessions, self.nats, self.database)),
            PreparationTask("object_store.prepare", self._prepare_object_store),
            PeriodicTask("database.check", CHECK_SECONDS, self._check_database),
            PeriodicTask("metrics.measure", MEASURE_SECONDS, self.measure),
            PeriodicTask("metrics.measure_edges", MEASURE_SECONDS, self.measure_edges),
            PeriodicTask("platform.report", REPORT_SECONDS, self.platform_reporter.report),
        ]

    def health_site(self) -> Any:
        """For a server in another thread: it reads what this thread has found out."""

        async def reaches_database() -> bool:
            return self._reaches_database

        async def reaches_nats() -> bool:
            return self.nats.has_responded_for()

        async def reaches_temporal() -> bool:
            return self._reaches_temporal

        checks = {"postgresql": reaches_database, "nats": reaches_nats, "temporal": reaches_temporal}
        return health_site(checks, frozenset(checks), lambda: self._tasks.failing, metrics.WORKER)

    async def _check_database(self) -> None:
        self._reaches_database = False
        async with self.database.reading() as tx:
            self._reaches_database = bool(await tx.value("select true"))

    async def _check_temporal(self, orchestrator: Orchestrator) -> None:
        self._reaches_temporal = await orchestrator.responds()

    async def measure(self) -> None:
        """Read the metrics that are in the database. Every worker has the same values."""
        async with self.database.reading() as tx:
            await measurements.measure(tx, self.workflows)
            for feature in self._features:
                if feature.measure is not None:
                    await feature.measure(tx)
        metrics.measured_at.set(time.time())

    async def measure_edges(self) -> None:
        async with self.database.reading() as tx:
            known = await nodes.browse(tx)
        with contextlib.suppress(FeedUnavailable):
            await measure_lag(self.edge_feed, known, wall_clock())

    async def _receive_from_nodes(self) -> None:
        """Start the gateway once NATS is connected and has its streams. If that fails, it is tried again."""
        await self.nats.ready()
        await self._ensure_streams()
        await self.gateway.start()
        await self.sign_ins.start()
        await self.chunk_receiver.start()
        await self.function_state.start()
        log.info("worker.ready")

    async def _ensure_streams(self) -> None:
        await ensure_streams(
            self.nats, output_mb=self.settings.nats_output_mb, edge_mb=self.settings.nats_edge_mb
        )

    async def _create_missing_streams(self) -> list[str]:
        await self.nats.ready()
        if missing := await list_missing(self.nats):
            await self._ensure_streams()
        return missing

    def _forget_registrations(self) -> None:
        """Nodes get their consumers again with their next heartbeat."""
        self._registered.clear()

    async def _wait_for_heartbeats(self, end: asyncio.Event) -> None:
        """After all workers were down, every node counts as lost, and jobs would fail. Wait for a heartbeat,
        and then a moment for those of the other nodes."""
        for attempt in range(HEARTBEAT_ATTEMPTS):
            if end.is_set() or not await self._are_all_nodes_lost():
                await asyncio.sleep(OTHER_HEARTBEATS_SECONDS if attempt else 0)
                return
            await asyncio.sleep(HEARTBEAT_RETRY_SECONDS)

    async def _are_all_nodes_lost(self) -> bool:
        try:
            async with self.database.reading() as tx:
                return await nodes.are_all_lost(tx)
        except DATABASE_UNREACHABLE:
            return True

    async def _prepare_object_store(self) -> None:
        """Retry until the bucket exists: the object store may start later than this worker."""
        while self.settings.s3_endpoint:
            try:
                await self.services.objects.ensure_bucket()
            except ObjectStoreUnavailable as error:
                log.warning("object_store.unavailable", reason=str(error))
                await asyncio.sleep(OBJECT_STORE_RETRY_SECONDS)
            else:
                return

    def _could_hear_nodes_for(self, seconds: float) -> bool:
        return self.nats.has_responded_for(seconds) and time.monotonic() - self._not_recorded_at >= seconds

    async def _record_heartbeat(self, heartbeat: Heartbeat) -> None:
        try:
            async with self.database.transaction() as tx:
                recorded = await nodes.record_heartbeat(tx, heartbeat)
        except DATABASE_UNREACHABLE as error:
            self._not_recorded_at = time.monotonic()
            log.warning("heartbeat.not_recorded", node=heartbeat.node, reason=type(error).__name__)
            return
        if recorded is None:
            self._log_once_a_minute("node.not_enrolled", heartbeat)
            return
        if recorded.region != heartbeat.region:
            self._log_once_a_minute("node.other_region", heartbeat)
        if heartbeat.edge_address and recorded.edge_address != heartbeat.edge_address:
            self._log_once_a_minute("node.other_edge_address", heartbeat)
        if heartbeat.work and not supports_hosting(heartbeat.work):
            self._log_once_a_minute("node.outdated", heartbeat)
        if heartbeat.records_skipped != recorded.records_skipped:
            log.warning(
                "edge.records_skipped",
                node=heartbeat.node,
                skipped=heartbeat.records_skipped,
                before=recorded.records_skipped,
            )
        try:
            await self._register_node(heartbeat, recorded)
        except (FeedUnavailable, *NATS_UNREACHABLE, ValueError) as error:
            log.warning("node.not_registered", node=heartbeat.node, reason=type(error).__name__)

    async def _register_node(self, heartbeat: Heartbeat, recorded: NodeBefore) -> None:
        """Create the consumers of a new or moved node, and publish the address of its edge.

        Repeated every minute, in case NATS has lost them, and after another enrolment: the removal of a node
        deletes them. A node gets no edge records until all of its region are there: it would delete the
        missing ones.
        """
        region, edge_address = recorded.region, recorded.edge_address
        period = time.monotonic() // REGISTER_AGAIN_SECONDS
        registration = region, edge_address, recorded.enrolled_at, period
        if self._registered.get(heartbeat.node) == registration:
            return
        await ensure_commands_consumer(self.nats, heartbeat.node)
        if edge_address is not None:
            await self.edge_feed.publish_peer(region, heartbeat.node, edge_address)
        if not await self.edge_feed.is_complete(region):
            self.feed_restorer.wake()
            return
        await ensure_edge_consumer(self.nats, heartbeat.node, region)
        self._registered[heartbeat.node] = registration

    def _log_once_a_minute(self, event: str, heartbeat: Heartbeat) -> None:
        period = time.monotonic() // REGISTER_AGAIN_SECONDS
        if self._logged.get(event) != period:
            self._logged[event] = period
            log.warning(event, node=heartbeat.node, claimed_region=heartbeat.region)

    async def _record_visits(self, activity: Activity) -> None:
        try:
            async with self.database.transaction() as tx:
                await maintenance.record_visits(tx, activity)
                await rate_limits.record(tx, activity)
                await scanning.record_changes(tx, activity)
        except DATABASE_UNREACHABLE as error:
            log.warning("visits.not_recorded", node=activity.node, reason=type(error).__name__)

    async def _record_mail(self, report: MailReport) -> None:
        try:
            async with self.database.transaction() as tx:
                await captured_mail.record(tx, self.services.sealer, report)
        except DATABASE_UNREACHABLE as error:
            log.warning("mail.not_recorded", node=report.node, reason=type(error).__name__)


async def run(
    settings: Settings,
    features: Sequence[Feature] = FEATURES,
    *,
    serve_health: Callable[[Any, Settings], None] | None = None,
) -> None:
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    program = WorkerProgram(settings, features)
    if settings.worker_port and serve_health is not None:
        serve_health(program.health_site(), settings)
    await program.run(end)
