"""The API process: connects the engines, the operations and the pages."""

import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stead.control import metrics
from stead.control.accounts import service as account_service
from stead.control.engines.clickhouse import ClickHouse
from stead.control.engines.nats import Nats
from stead.control.engines.nats_questions import Questions
from stead.control.engines.postgres import DATABASE_FAILED, Database
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.engines.redis import Redis, RedisDown, ReplyError
from stead.control.feature import ApiServices
from stead.control.features import FEATURES, all_operations, event_catalog, resolvers, workflows
from stead.control.http.access_log import AccessLog
from stead.control.http.api import Api
from stead.control.http.authentication import Authenticator
from stead.control.http.client_address import parse_networks
from stead.control.http.context import ApiContext
from stead.control.http.cross_origin import AllowedOrigins
from stead.control.http.endpoint import EndpointDependencies
from stead.control.http.failed_lookups import FailedLookups
from stead.control.http.open_streams import CHECK_SECONDS, OpenStreams, StreamLimits
from stead.control.http.principal_cache import PrincipalCacheInvalidator
from stead.control.http.rate_limits import Limiter
from stead.control.http.requests import Receive, Scope, Send
from stead.control.http.website import website
from stead.control.insights.platform_reports import PlatformReporter
from stead.control.jobs.output import JobOutput
from stead.control.keys import service as key_service
from stead.control.nodes import service as nodes
from stead.control.sealing import Sealer
from stead.control.settings import Settings, object_store_of
from stead.control.tasks import PeriodicTask, TaskRunner
from stead.protocol.platform import REPORT_SECONDS
from stead.protocol.subjects import Program
from stead.shared.clock import Clock, wall_clock
from stead.shared.metrics import set_all


class ControlPlane:
    """The ASGI application with its engine connections."""

    def __init__(
        self, settings: Settings, *, clock: Clock = wall_clock, access_log: AccessLog | None = None
    ) -> None:
        self.settings = settings
        self.database = Database(settings.database_url, clock=clock, size=settings.database_connections)
        self.redis = Redis(settings.redis_url, on_connect=lambda: self.authenticator.clear_cache())
        limiter = Limiter(self.redis)
        self.authenticator = Authenticator(
            self.database,
            limiter,
            {
                "stead_live": key_service.principal_of_key,
                "stead_test": key_service.principal_of_key,
                "stead_session": account_service.principal_of_session,
            },
            parse_networks(settings.proxies),
            clock,
            FailedLookups(settings.unknown_credentials_per_minute),
        )
        self.nats = Nats(
            settings.nats_url, user=settings.nats_user, password=settings.nats_password, program=Program.API
        )
        self.listener = PostgresListener(settings.database_url)
        self.invalidator = PrincipalCacheInvalidator(self.database, self.redis)
        self.clickhouse = ClickHouse(settings.clickhouse_url)
        sealer = Sealer.from_text(settings.sealing_key)
        self._access_log = access_log or AccessLog()
        self.context = ApiContext(
            self.database,
            self.listener,
            JobOutput(self.nats),
            workflows=workflows(),
            event_catalog=event_catalog(),
            docs_url=settings.docs,
            preview_domain=settings.preview_domain,
            own_names=settings.own_names,
            verify_domains=settings.verify_domains,
            objects=object_store_of(settings),
            clickhouse=self.clickhouse,
            questions=Questions(self.nats),
            serves_dns=bool(settings.powerdns_url),
            nameservers=settings.nameservers,
            base_url=settings.base_url,
            ssh_host=settings.ssh_public_host,
            ssh_port=settings.ssh_public_port,
            verifies_email=settings.verifies_email,
            webhook_networks=parse_networks(settings.webhooks_allowed),
            git_ports=settings.extra_git_ports,
            git_networks=parse_networks(settings.git_allowed),
        )
        stream_limits = StreamLimits(
            per_credential=settings.streams_per_credential,
            per_account=settings.streams_per_account,
            per_address=settings.streams_per_address,
        )
        self.streams = OpenStreams(stream_limits, limiter)
        dependencies = EndpointDependencies(
            resolvers=resolvers(),
            database=self.database,
            limiter=limiter,
            authenticator=self.authenticator,
            invalidator=self.invalidator,
            sealer=sealer,
            context=self.context,
            streams=self.streams,
        )
        operations = all_operations(preview=settings.preview, base_url=settings.base_url)
        origins = AllowedOrigins.parse(settings.allowed_origins)
        self._api = Api(operations, dependencies, self._access_log, origins)
        services = ApiServices(settings, self.database, limiter, self.authenticator, sealer, self.invalidator)
        self._tasks = TaskRunner(
            [
                PeriodicTask("principals.invalidate", 1, self.invalidator.publish_pending),
                PeriodicTask("streams.authorize", CHECK_SECONDS, self.streams.check),
                PeriodicTask("credentials.record_use", 5, self.record_use),
                PeriodicTask("metrics.update", 5, self._check_redis),
                PeriodicTask("metrics.update_nodes", 15, self._update_node_metrics),
                PeriodicTask(
                    "platform.report",
                    REPORT_SECONDS,
                    PlatformReporter(self.nats, Program.API, metrics.API).report,
                ),
            ],
            metrics.api_tasks,
        )
        self._website = website(
            viewer=Path(settings.viewer) if settings.viewer else None,
            events=self.context.event_catalog,
            checks={
                "postgresql": self._check_database,
                "redis": self._check_redis,
                "nats": self._check_nats,
            },
            required=frozenset({"postgresql"}),
            failing_tasks=lambda: self._tasks.failing,
            docs_url=settings.docs,
            pages=[page for feature in FEATURES if feature.pages for page in feature.pages(services)],
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._lifespan(receive, send)
        elif scope["path"].startswith("/v1/") or scope["path"] == "/v1":
            await self._api(scope, receive, send)
        else:
            await self._website(scope, receive, send)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        await self.redis.start()
        self.nats.start()
        self.listener.start()
        self._tasks.start()
        try:
            yield
        finally:
            await self._tasks.stop()
            with contextlib.suppress(*DATABASE_FAILED):
                await self.record_use()
            self._access_log.flush()
            await self.listener.stop()
            await self.nats.stop()
            await self.redis.close()
            self.clickhouse.close()
            await self.database.close()

    async def record_use(self) -> None:
        """Store when credentials were last used: periodically for all of them, not for each request."""
        used, self.authenticator.used = self.authenticator.used, {}
        if not used:
            return
        try:
            async with self.database.transaction() as tx:
                for kind, record in (
                    ("api_key", key_service.record_use),
                    ("session", account_service.record_use),
                ):
                    times = {id_: at for (each_kind, id_), at in used.items() if each_kind == kind}
                    if times:
                        await record(tx, dict(sorted(times.items())))
        except DATABASE_FAILED:
            self.authenticator.used = used | self.authenticator.used
            raise

    async def _lifespan(self, receive: Receive, send: Send) -> None:
        await receive()
        async with self.running():
            await send({"type": "lifespan.startup.complete"})
            await receive()
        await send({"type": "lifespan.shutdown.complete"})

    async def _check_database(self) -> bool:
        try:
            async with self.database.reading() as tx:
                return bool(await tx.value("select true"))
        except DATABASE_FAILED:
            return False

    async def _check_nats(self) -> bool:
        return self.nats.has_responded_for()

    async def _check_redis(self) -> bool:
        try:
            responds = bool(await self.redis.execute("PING") == b"PONG")
        except (RedisDown, ReplyError):
            responds = False
        metrics.redis_connected.set(responds)
        return responds

    async def _update_node_metrics(self) -> None:
        async with self.database.reading() as tx:
            skipped = {node.id: float(node.records_skipped) for node in await nodes.browse(tx)}
        set_all(metrics.edge_records_skipped, skipped)
