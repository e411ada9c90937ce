"""The worker process: runs jobs, hears nodes, hands events on, sends mail, keeps house. Run any number."""

import asyncio
import contextlib
import signal
import time
from collections.abc import Awaitable, Callable
from functools import partial

import structlog
from nats.errors import Error as NatsError

from stead.control.accounts import service as accounts
from stead.control.artifacts import collecting
from stead.control.builds import service as builds
from stead.control.builds import workflows as build_jobs
from stead.control.certificates.certifier import AuthorityAt, Certifier
from stead.control.certificates.challenges import Door, told
from stead.control.certificates.preflight import Preflight
from stead.control.configuration import workflows as edge_jobs
from stead.control.deployments import workflows as deployment_jobs
from stead.control.edge_feed import announcements as routing
from stead.control.edge_feed.announcer import Announcer
from stead.control.edge_feed.feed import Edges, FeedUnavailable
from stead.control.engines.nats import Nats, NatsDown
from stead.control.engines.nats_streams import ensure_consumers, ensure_streams
from stead.control.engines.object_store import ObjectsUnavailable
from stead.control.engines.postgres import UNREACHABLE, Database, Tx
from stead.control.engines.postgres_notifications import Notices
from stead.control.engines.temporal import Orchestrator, run_until
from stead.control.environments import service as environments
from stead.control.environments import workflows as clone_jobs
from stead.control.events import service as events
from stead.control.events.sequencer import Sequencer
from stead.control.git import pushes
from stead.control.git import workflows as push_jobs
from stead.control.git.poller import Poller
from stead.control.git.pushes import Ways
from stead.control.http import idempotency
from stead.control.http.client_address import parse_networks
from stead.control.jobs.declaration import Desk
from stead.control.jobs.dispatcher import Dispatcher
from stead.control.jobs.steps import Steps
from stead.control.nodes import service as nodes
from stead.control.nodes.gateway import Gateway
from stead.control.notifications import service as notifications
from stead.control.notifications.mailing import Mailing
from stead.control.outbox import audit
from stead.control.outbox.mail import Postman
from stead.control.sealing import Sealer
from stead.control.settings import Settings, objects_of
from stead.control.sites import service as sites
from stead.control.sites import workflows as site_jobs
from stead.control.tasks import Chore, Housekeeping
from stead.control.uploads import service as uploads
from stead.control.webhooks import service as webhooks
from stead.control.webhooks.client import Client
from stead.control.webhooks.courier import Courier
from stead.protocol.commands import Activity, Heartbeat
from stead.protocol.subjects import Program
from stead.shared.addresses import Guard
from stead.shared.clock import wall_clock

log = structlog.get_logger()

JOBS = (site_jobs, clone_jobs, edge_jobs, build_jobs, deployment_jobs, push_jobs)
"""Every kind of job that a worker carries out is declared in one of these."""
MEET_AGAIN_SECONDS = 60.0
OBJECTS_SECONDS = 2.0


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
        self.gateway = Gateway(self.nats, self._heard, self._visited)
        self.edges = Edges(self.nats)
        self.announcer = Announcer(self.database, self.edges, patience=settings.edge_patience)
        sealer = Sealer.from_text(settings.sealing_key)
        self.objects = objects_of(settings)
        self.desk = Desk(self.database, self.objects, sealer)
        self.postman = Postman(self.database, sealer, smtp_url=settings.smtp_url, sender=settings.mail_from)
        self.mailing = Mailing(self.database, sealer, base_url=settings.base_url)
        self.sequencer = Sequencer(self.database, self.notices, [webhooks.take_over, notifications.take_over])
        self.courier = Courier(
            self.database,
            self.notices,
            sealer,
            Client(Guard(parse_networks(settings.webhooks_allowed))),
            clock=wall_clock,
        )
        self._introduced: dict[str, tuple[str, str, float]] = {}
        self._housekeeping = Housekeeping(
            [
                Chore("nodes.report", 5, self._report_nodes),
                Chore("sites.purge", 600, self._purge_sites),
                Chore("environments.tend", 60, self._tend_environments),
                Chore("artifacts.collect", 600, self._collect_artifacts),
                Chore("uploads.remove", 300, self._remove_uploads),
                Chore("mail.deliver", 1, self.postman.deliver),
                Chore("notifications.mail", 5, self.mailing.post_due),
                Chore("webhooks.settle", 5, self._settle_webhooks),
                *self._git(),
                Chore("events.forget", 60, self._forget_old_events),
                Chore("audit.partitions", 3600, self._keep_audit_partitions),
                Chore("idempotency.forget", 60, self._forget_old_answers),
                Chore("sessions.forget", 3600, self._forget_old_sessions),
                *self._certificates(sealer),
            ]
        )

    def _git(self) -> list[Chore]:
        settings = self.settings
        ways = Ways(clone_jobs.CREATE, build_jobs.RUN, settings.preview_domain)
        client = Client(Guard(parse_networks(settings.git_allowed)))
        poller = Poller(self.database, client, ways, seconds=settings.git_poll_seconds)
        return [
            Chore("git.poll", min(5, settings.git_poll_seconds), poller.poll),
            Chore("git.follow", 1, self._follow_pushes),
            Chore("git.forget", 600, self._forget_hooks),
        ]

    async def _follow_pushes(self) -> None:
        await self._until_none(lambda tx: pushes.follow_up(tx, build=build_jobs.RUN))
        async with self.database.transaction() as tx:
            await pushes.greet_arrived(tx)

    async def _forget_hooks(self) -> None:
        await self._until_none(pushes.forget_deliveries)

    def _certificates(self, sealer: Sealer) -> list[Chore]:
        """None where no authority is named."""
        settings = self.settings
        if not settings.acme_directory:
            return []
        certifier = Certifier(
            self.database,
            sealer,
            AuthorityAt(settings.acme_directory, settings.acme_email, settings.acme_ca_file),
            preflight=Preflight(settings.edge_addresses, settings.dns_resolver),
            door=Door(self.announcer, settings.edge_master_key),
            refreshed=self._serve_anew,
        )
        return certifier.chores()

    async def _serve_anew(self, site: str) -> None:
        """The edges are told again how a site is served: its certificate has come, or its end."""
        async with self.database.reading() as tx:
            announcement = await routing.serve_site(tx, site)
        if announcement is not None:
            await told(self.announcer, announcement.region, announcement.records)

    async def run(self, end: asyncio.Event) -> None:
        orchestrator = await Orchestrator.connect(self.settings.temporal_address, end)
        if orchestrator is None:
            return
        self.nats.start()
        self.notices.start()
        steps = Steps(self.desk, self.gateway, self.announcer, self.settings.docs)
        dispatcher = Dispatcher(self.database, orchestrator, self.notices)
        with contextlib.suppress(*UNREACHABLE):
            await self._keep_audit_partitions()
        self._housekeeping.start()
        introduction = asyncio.create_task(self._introduce())
        tasks = (dispatcher.run(), self.sequencer.run(), self.courier.run(), self._prepare_objects())
        running = [asyncio.create_task(each) for each in tasks]
        try:
            await run_until(orchestrator.worker(steps.activities), end)
        finally:
            for task in (introduction, *running):
                task.cancel()
            await asyncio.gather(introduction, *running, return_exceptions=True)
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

    async def _prepare_objects(self) -> None:
        """The object store may come later than we do; where none is named there is nothing to wait for."""
        while self.settings.s3_endpoint:
            try:
                await self.objects.prepare()
            except ObjectsUnavailable as error:
                log.warning("objects.unavailable", reason=str(error))
                await asyncio.sleep(OBJECTS_SECONDS)
            else:
                return

    async def _heard(self, beat: Heartbeat) -> None:
        try:
            async with self.database.transaction() as tx:
                await nodes.seen(tx, beat)
        except UNREACHABLE as error:
            log.warning("node.unheard", node=beat.node, reason=type(error).__name__)
        try:
            await self._meet(beat)
        except (FeedUnavailable, NatsDown, NatsError, OSError, TimeoutError, ValueError) as error:
            log.warning("node.unmet", node=beat.node, reason=type(error).__name__)

    async def _meet(self, beat: Heartbeat) -> None:
        """A node that is new, or is found elsewhere than before; now and then also one that is known, should
        NATS have lost what was made for it."""
        turn = time.monotonic() // MEET_AGAIN_SECONDS
        where = beat.region, beat.edge_address, turn
        if self._introduced.get(beat.node) == where:
            return
        admitted = await ensure_consumers(self.nats, beat.node, beat.region)
        if admitted and beat.edge_address:
            await self.edges.introduce(beat.region, beat.node, beat.edge_address)
        self._introduced[beat.node] = where

    async def _report_nodes(self) -> None:
        async with self.database.transaction() as tx:
            lost, back = await nodes.report(tx)
            await environments.report(tx)
        if lost or back:
            log.warning("nodes.changed", sites_lost=len(lost), sites_back=len(back))

    async def _purge_sites(self) -> None:
        async with self.database.transaction() as tx:
            await sites.purge_expired(tx, kind=site_jobs.PURGE, clone=clone_jobs.PURGE)

    async def _tend_environments(self) -> None:
        """What nobody visits is paused, and what has lost its branch is ended."""
        days = self.settings.environment_idle_days
        await self._until_none(partial(environments.suspend_idle, days=days, kind=clone_jobs.SUSPEND))
        await self._until_none(partial(environments.destroy_abandoned, kind=clone_jobs.DESTROY))

    async def _visited(self, activity: Activity) -> None:
        try:
            async with self.database.transaction() as tx:
                await environments.visited(tx, activity)
        except UNREACHABLE as error:
            log.warning("visits.unheard", node=activity.node, reason=type(error).__name__)

    async def _collect_artifacts(self) -> None:
        await collecting.collect(self.database, self.objects)

    async def _remove_uploads(self) -> None:
        await uploads.remove_expired(self.database, self.objects)
        await builds.remove_staged(self.database, self.objects)

    async def _keep_audit_partitions(self) -> None:
        async with self.database.transaction() as tx:
            await audit.keep_partitions(tx)

    async def _forget_old_answers(self) -> None:
        async with self.database.transaction() as tx:
            await idempotency.forget_old(tx)

    async def _settle_webhooks(self) -> None:
        await self._until_none(webhooks.settle)

    async def _forget_old_events(self) -> None:
        await self._until_none(events.forget_old)
        await self._until_none(notifications.forget_old)

    async def _until_none(self, some: Callable[[Tx], Awaitable[int]]) -> None:
        """A batch a transaction, so that nobody waits for all of them."""
        left = True
        while left:
            async with self.database.transaction() as tx:
                left = await some(tx) > 0

    async def _forget_old_sessions(self) -> None:
        async with self.database.transaction() as tx:
            await accounts.forget_old_sessions(tx)


async def run(settings: Settings) -> None:
    end = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, end.set)
    await WorkerProgram(settings).run(end)
