"""What the node does for its WordPress environments without a command: it repairs, limits, compiles, and runs
scheduled events."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping
from typing import Any

import structlog

from stead.mariadb.connection import StatementFailed
from stead.mariadb.data_directory import ServerUnavailable
from stead.node.containers.limits import MB
from stead.node.databases.names import schema_name
from stead.node.databases.size_limits import SizeLimits
from stead.node.hosting.hosts import Hosts
from stead.node.images.image_store import ImageStore
from stead.node.images.recipe import ImageUnavailable
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.attachments import Attachments
from stead.node.wordpress.compiled_core import CoreCompiler
from stead.node.wordpress.cron_runner import CronRunner
from stead.node.wordpress.cron_schedule import CronSchedule
from stead.node.wordpress.environments import Environments
from stead.shared.ids import EnvironmentId

SIZE_CHECK_SECONDS = 5.0
REPAIR_SECONDS = 60.0
SETTLED_SECONDS = 1200.0
"""Longer than a job may take that suspends an environment, with its undo."""

log = structlog.get_logger()

ListSuspended = Callable[[Collection[str]], Mapping[str, float]]
Suspend = Callable[[str], Awaitable[None]]


class Upkeep:
    def __init__(
        self,
        environments: Environments,
        attachments: Attachments,
        hosts: Hosts,
        images: ImageStore,
        compiler: CoreCompiler,
        schedule: CronSchedule,
        sizes: SizeLimits,
        suspend: Suspend,
        refresh_egress: Callable[[], None],
        list_suspended: ListSuspended,
    ) -> None:
        self._environments, self._attachments, self._hosts, self._images = (
            environments,
            attachments,
            hosts,
            images,
        )
        self._compiler, self._schedule, self._sizes = compiler, schedule, sizes
        self._suspend, self._refresh_egress, self._list_suspended = suspend, refresh_egress, list_suspended

    def background_tasks(self) -> Mapping[str, Callable[[], Coroutine[Any, Any, None]]]:
        return {
            "databases.limit": self._limit_databases,
            "wordpress.repair": self._repair,
            "wordpress.cron": self._run_cron,
            "wordpress.compile": self._compile_core,
        }

    async def _repair(self) -> None:
        while True:
            await asyncio.sleep(REPAIR_SECONDS)
            await run_in_thread(self._refresh_egress)
            for name in sorted(self._attachments.broken):
                async with self._environments.lock(name):
                    await self._attachments.bring_back(name)
            await self.suspend_forgotten()

    async def suspend_forgotten(self) -> None:
        """Suspend what was suspended while this node was lost. The job did not wait for the node, but the
        edges were told. A later command counts for more."""
        settled, state = time.time() - SETTLED_SECONDS, self._environments.state
        announced = await run_in_thread(self._list_suspended, list(state.list_active()))
        for name, since in announced.items():
            async with self._environments.lock(name):
                if state.list_active().get(name, since) < since < settled:
                    log.info("environment.suspended", environment=name)
                    await self._suspend(name)

    async def _run_cron(self) -> None:
        await self._environments.ready.wait()
        paths = self._environments.paths
        await CronRunner(self._schedule, self.list_scheduled, self._hosts.find, paths).run()

    def list_scheduled(self) -> dict[str, str]:
        """The URLs of environments whose events the platform runs. Those of a clone would do what production
        does as well, such as renew subscriptions; run them with `wp cron event run`."""
        return {
            name: spec.settings.url
            for name, spec in self._environments.state.specs().items()
            if spec.state == "installed" and not spec.settings.is_clone
        }

    async def _compile_core(self) -> None:
        """Compile WordPress for the images that sites use. No site waits for it."""
        await self._environments.ready.wait()
        while True:
            self._environments.images_changed.clear()
            specs = self._environments.state.specs().values()
            for version, php_image, core_image in {
                (spec.settings.php, spec.php_image, spec.core_image) for spec in specs
            }:
                with contextlib.suppress(ImageUnavailable):
                    php = self._images.get(f"php{version}", php_image)
                    core = self._images.get("wordpress", core_image)
                    await self._compiler.ensure(php.root, core.root)
            await self._environments.images_changed.wait()

    async def _limit_databases(self) -> None:
        """A database may be as large as the disk of its environment."""
        while True:
            await asyncio.sleep(SIZE_CHECK_SECONDS)
            specs = self._environments.state.specs()
            if not specs:
                continue
            limits = {
                schema_name(EnvironmentId(name), dataset): spec.settings.disk_mb * MB
                for name, spec in specs.items()
                for dataset in spec.datasets.schemas
            }
            try:
                await self._sizes.enforce(limits)
            except (ServerUnavailable, StatementFailed) as error:
                log.warning("databases.not_limited", reason=str(error))
