"""The worker process: runs jobs, hears the nodes, sends mail, keeps house. Any number may run."""

import asyncio
import contextlib
import signal

import structlog

from stead.control.accounts import service as accounts
from stead.control.edge import workflows as edge_jobs
from stead.control.jobs.dispatcher import Dispatcher
from stead.control.jobs.steps import Steps
from stead.control.nodes import service as nodes
from stead.control.platform import audit, idempotency
from stead.control.platform.database import UNREACHABLE, Database
from stead.control.platform.edge import Edges, FeedUnavailable
from stead.control.platform.gateway import Gateway
from stead.control.platform.housekeeping import Chore, Housekeeping
from stead.control.platform.mail import Postman
from stead.control.platform.nats import Nats
from stead.control.platform.notices import Notices
from stead.control.platform.sealing import Sealer
from stead.control.platform.streams import ensure_consumers, ensure_streams
from stead.control.platform.temporal import Orchestrator, run_until
from stead.control.settings import Settings
from stead.control.sites import service as sites
from stead.control.sites import workflows as site_jobs
from stead.protocol.commands import Heartbeat
from stead.protocol.subjects import Program
from stead.shared.clock import wall_clock

log = structlog.get_logger()

JOBS = (site_jobs, edge_jobs)
"""Every kind of job that a worker carries out is declared in one of these."""


class WorkerProgram:
    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.database = Database(settings.database_url, clock=wall_clock, size=settings.database_connections)
        self.notices = Notices(settings.database_url)
        self.nats = Nats(
            settings.nats_url,
            user=settings.nats_user,
            password=settings.nats_password,
            program=Program.WORKER,
        )
        self.gateway = Gateway(self.nats, self._heard)
        self.edges = Edges(self.nats)
        sealer = Sealer.from_text(settings.sealing_key)
        self.postman = Postman(self.database, sealer, smtp_url=settings.smtp_url, sender=settings.mail_from)
        self._introduced: dict[str, tuple[str, str]] = {}
        self._housekeeping = Housekeeping(
            [
                Chore("nodes.report", 5, self._report_nodes),
                Chore("sites.purge", 600, self._purge_sites),
                Chore("mail.deliver", 1, self.postman.deliver),
                Chore("audit.partitions", 3600, self._keep_audit_partitions),
                Chore("idempotency.forget", 60, self._forget_old_answers),
                Chore("sessions.forget", 3600, self._forget_old_sessions),
            ]
        )

    async def run(self, end: asyncio.Event) -> None:
        orchestrator = await Orchestrator.connect(self.settings.temporal_address, end)
        if orchestrator is None:
            return
        self.nats.start()
        self.notices.start()
        steps = Steps(
            self.database,
            self.gateway,
            self.edges,
            self.settings.docs,
            edge_patience=self.settings.edge_patience,
        )
        dispatcher = Dispatcher(self.database, orchestrator, self.notices)
        with contextlib.suppress(*UNREACHABLE):
            await self._keep_audit_partitions()
        self._housekeeping.start()
        introduction = asyncio.create_task(self._introduce())
        dispatching = asyncio.create_task(dispatcher.run())
        try:
            await run_until(orchestrator.worker(steps.activities), end)
        finally:
            for task in (introduction, dispatching):
                task.cancel()
            await asyncio.gather(introduction, dispatching, return_exceptions=True)
            await self._housekeeping.stop()
            await self.notices.stop()
            await self.nats.stop()
            await self.database.close()

    async def _introduce(self) -> None:
        """Nodes can be heard and asked once NATS is there and has its streams."""
        await self.nats.ready()
        await ensure_streams(self.nats)
        await self.gateway.start()
        log.info("worker.ready")

    async def _heard(self, beat: Heartbeat) -> None:
        try:
            await self._meet(beat)
            async with self.database.transaction() as tx:
                await nodes.seen(tx, beat)
        except (*UNREACHABLE, FeedUnavailable) as error:
            log.warning("node.unheard", node=beat.node, reason=type(error).__name__)

    async def _meet(self, beat: Heartbeat) -> None:
        """A node that is new, or is found elsewhere than before."""
        where = beat.region, beat.edge_address
        if self._introduced.get(beat.node) == where:
            return
        admitted = await ensure_consumers(self.nats, beat.node, beat.region)
        if admitted and beat.edge_address:
            await self.edges.introduce(beat.region, beat.node, beat.edge_address)
        self._introduced[beat.node] = where

    async def _report_nodes(self) -> None:
        async with self.database.transaction() as tx:
            lost, back = await nodes.report(tx)
        if lost or back:
            log.warning("nodes.changed", sites_lost=len(lost), sites_back=len(back))

    async def _purge_sites(self) -> None:
        async with self.database.transaction() as tx:
            await sites.purge_expired(tx, kind=site_jobs.PURGE)

    async def _keep_audit_partitions(self) -> None:
        async with self.database.transaction() as tx:
            await audit.keep_partitions(tx)

    async def _forget_old_answers(self) -> None:
        async with self.database.transaction() as tx:
            await idempotency.forget_old(tx)

    async def _forget_old_sessions(self) -> None:
        async with self.database.transaction() as tx:
            await accounts.forget_old_sessions(tx)


async def run(settings: Settings) -> None:
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    await WorkerProgram(settings).run(end)
