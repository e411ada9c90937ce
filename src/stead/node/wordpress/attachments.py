"""What an environment needs around its container: disk, database, sockets, and files for the edge."""

from collections.abc import Collection
from contextlib import AsyncExitStack

import msgspec
import structlog

from stead.mariadb.connection import StatementFailed
from stead.mariadb.data_directory import ServerUnavailable
from stead.node.containers.disks import Disks
from stead.node.containers.egress_proxy import EgressProxy
from stead.node.containers.egress_rules import EgressRules
from stead.node.containers.limits import MB, ContainerFailed
from stead.node.containers.names import LimitedNames
from stead.node.databases.databases import DatabaseLimits
from stead.node.databases.gate import GateFailed
from stead.node.databases.names import schema_name
from stead.node.databases.node_databases import NodeDatabases
from stead.node.databases.size_limits import SizeLimits
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Refusal
from stead.node.hosting.desired_state import SecretsUnreadable
from stead.node.hosting.hosts import Hosts
from stead.node.images.recipe import ImageUnavailable
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress import files
from stead.node.wordpress.environments import WAKE_SECONDS, Environments
from stead.node.wordpress.installer import DATA_LOST
from stead.node.wordpress.plan import WordPressPlan, connection_limit
from stead.node.wordpress.release_layout import read_layout
from stead.node.wordpress.site_services import SiteServices
from stead.shared.ids import EnvironmentId

MAIL_PORT = 465
"""For the submission of mail. Clones do not reach it: a plugin would write to the customers of production."""

log = structlog.get_logger()


class Attachments:
    def __init__(
        self,
        environments: Environments,
        hosts: Hosts,
        databases: NodeDatabases,
        disks: Disks,
        egress: EgressRules,
        space: DiskSpace,
        services: SiteServices,
        sizes: SizeLimits,
    ) -> None:
        self._environments, self._hosts, self._databases, self._disks = environments, hosts, databases, disks
        self._egress, self._space, self._services, self._sizes = egress, space, services, sizes
        self._proxies: dict[str, AsyncExitStack] = {}
        self.broken: set[str] = set()
        """Environments that could not be brought back. This is tried again every minute."""

    async def make(self, plan: WordPressPlan) -> None:
        name, megabytes = plan.desired.environment, plan.desired.spec.settings.disk_mb
        if not plan.paths.disk_file.exists():
            if plan.desired.spec.state == "installed":
                await run_in_thread(files.mark_lost, plan.paths)
                raise Refusal(DATA_LOST, "the disk of the site is not on this node any more")
            # The disk grows as it is filled; the node must have room for all of it.
            with self._space.reserve(megabytes * MB):
                await files.make_disk(plan.paths, self._disks, megabytes)
        await files.attach(plan.paths, self._disks, plan.core, plan.owner)
        await self._databases.wait_until_ready()
        if plan.desired.spec.state == "new":
            # An installation that was interrupted has left half of the tables.
            await self._databases.databases.drop(EnvironmentId(name), plan.desired.spec.datasets.schema)
        await self._open_database(plan)
        await self._open_sockets(plan)

    async def _open_database(self, plan: WordPressPlan) -> None:
        await self._databases.databases.create(
            EnvironmentId(plan.desired.environment),
            plan.desired.secrets.database_password,
            DatabaseLimits(connections=plan.needs.connections),
            plan.desired.spec.datasets.schema,
        )
        self._sizes.forget(plan.database)

    async def serve_files(self, plan: WordPressPlan) -> None:
        """Let the edge serve the files of the release."""
        if plan.release is None:
            await run_in_thread(files.serve_own_content, plan.paths)
        else:
            found = read_layout(plan.release)
            await run_in_thread(files.serve_release, plan.paths, plan.core, plan.release, found, plan.owner)

    async def bring_back(self, name: str) -> None:
        """An environment that cannot be brought back must not keep the others from coming back."""
        try:
            desired = self._environments.get(name)
            if desired.spec.state == "new":
                # Its installation was interrupted; the command that began it is repeated.
                return
            plan = self._environments.plan(desired)
            await files.attach(plan.paths, self._disks, plan.core, plan.owner)
            await self.serve_files(plan)
            if desired.spec.datasets.staged and not desired.suspended:
                await self._reopen_database(plan)
            await self._open_sockets(plan)
            hosted = await self._hosts.open(name, plan, suspended=desired.suspended)
            if hosted.state == "awake":
                self._services.adopt(name)
                # The agent may have ended after a change was recorded, before the container was replaced.
                await hosted.renew()
            self.broken.discard(name)
        except (ContainerFailed, ImageUnavailable, SecretsUnreadable, OSError, msgspec.MsgspecError) as error:
            self.broken.add(name)
            log.error("environment.broken", environment=name, error=type(error).__name__, reason=str(error))

    async def _reopen_database(self, plan: WordPressPlan) -> None:
        """The agent may have ended during a push, which closes the database of production. Visitors need it
        until the push is repeated."""
        try:
            await self._databases.wait_until_ready(WAKE_SECONDS)
            await self._open_database(plan)
        except (ServerUnavailable, StatementFailed) as error:
            log.warning("database.not_opened", environment=plan.desired.environment, reason=str(error))

    async def remove(self, name: str) -> None:
        """The data of the environment is gone afterwards."""
        paths, environment = self._environments.paths(name), EnvironmentId(name)
        if proxy := self._proxies.pop(name, None):
            await proxy.aclose()
        await self._services.forget(name)
        await self._databases.wait_until_ready()
        for dataset in {*await self._databases.databases.list_datasets(environment), ""}:
            await self._databases.databases.drop(environment, dataset)
            self._sizes.forget(schema_name(environment, dataset))
        await files.remove(paths, self._disks)
        if self._databases.gate is not None:
            await self._databases.gate.close(paths.database_socket)
        self.broken.discard(name)

    async def close(self) -> None:
        for proxy in self._proxies.values():
            await proxy.aclose()
        self._proxies.clear()
        await self._services.close_all()

    async def open_gate(self, names: Collection[str]) -> None:
        """For all environments at once, because each change lets nginx read its configuration."""
        if self._databases.gate is None:
            return
        specs = self._environments.state.specs()
        limits = {
            paths.database_socket: connection_limit(specs[paths.environment])
            for paths in map(self._environments.paths, names)
            if paths.database_socket.parent.parent.is_dir()
        }
        try:
            await self._databases.gate.open(limits)
        except (GateFailed, OSError) as error:
            # Tried again for each environment.
            log.error("databases.gate_failed", reason=str(error))

    async def _open_sockets(self, plan: WordPressPlan) -> None:
        name = plan.desired.environment
        if self._databases.gate is not None:
            await self._databases.gate.open({plan.paths.database_socket: plan.needs.connections})
        await self._services.open(plan.paths, is_clone=plan.desired.spec.settings.is_clone)
        if name in self._proxies:
            return

        async def report(message: str) -> None:
            log.info("egress.refused", environment=name, message=message)

        socket = plan.paths.inside / "egress.sock"
        socket.unlink(missing_ok=True)
        stack = AsyncExitStack()
        rules = self._egress
        if plan.desired.spec.settings.is_clone:
            rules = rules.without_port(MAIL_PORT)
        await stack.enter_async_context(EgressProxy(rules, report, LimitedNames()).listen(socket))
        self._proxies[name] = stack
