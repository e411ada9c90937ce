"""Commands for the data of environments: a dataset is made beside the one that visitors see, served in its
place, or discarded. See `datasets` for how one is made."""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from dataclasses import replace

import msgspec
import structlog

from stead.mariadb.connection import StatementFailed
from stead.mariadb.data_directory import ServerUnavailable
from stead.node.containers.limits import ContainerFailed
from stead.node.databases.node_databases import NodeDatabases
from stead.node.databases.size_limits import SizeLimits
from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.hosting.hosts import Hosts
from stead.node.uninterrupted import run_uninterrupted
from stead.node.wordpress.attachments import Attachments
from stead.node.wordpress.copied_rows import CopiedRows
from stead.node.wordpress.datasets import PART as STAGED
from stead.node.wordpress.datasets import DatasetMaker, Source
from stead.node.wordpress.environments import Environments, with_datasets, with_release
from stead.node.wordpress.installer import DATA_LOST
from stead.node.wordpress.plan import WordPress, WordPressPlan
from stead.node.wordpress.pushing import review, take_over
from stead.node.wordpress.site_services import SiteServices
from stead.node.wordpress.spec import Datasets
from stead.protocol.work.hosting import DiscardDataset, PrepareDataset, PushMode, WordPressSettings
from stead.shared.ids import EnvironmentId

log = structlog.get_logger()


class DatasetCommands:
    def __init__(
        self,
        environments: Environments,
        maker: DatasetMaker,
        attachments: Attachments,
        hosts: Hosts,
        databases: NodeDatabases,
        services: SiteServices,
        sizes: SizeLimits,
    ) -> None:
        self._environments, self._maker, self._attachments, self._hosts = (
            environments,
            maker,
            attachments,
            hosts,
        )
        self._databases, self._services, self._sizes = databases, services, sizes

    async def prepare(self, task: Assignment, work: PrepareDataset) -> None:
        async with self.staged(task, work.dataset, work.wordpress, work.uploads) as staged:
            if staged is None:
                return
            desired, plan = staged
            if work.source:
                await self._copy(task, work, desired, plan)
            else:
                await self._maker.install(plan, plan.desired.spec.settings, task)

    @asynccontextmanager
    async def staged(
        self, task: Assignment, dataset: str, settings: WordPressSettings | None, uploads: bool | None = None
    ) -> AsyncIterator[tuple[WordPress, WordPressPlan] | None]:
        """What the environment is, and the plan of a dataset that is to be made beside the one that it
        serves; None if it is complete already. Nothing else is made for the environment in the block."""
        name = layout.check_identifier(task.environment)
        if settings is None:
            raise Refusal("environment.malformed", "a WordPress environment needs its settings")
        await self._environments.make_images(settings, task.output)
        async with self._environments.preparing_lock(name):
            async with self._environments.use(task):
                desired = self._stage(task, dataset, settings, uploads)
            # With the settings of now, which the environment gets when it serves the dataset.
            spec = msgspec.structs.replace(desired.spec, settings=settings)
            made = with_datasets(msgspec.structs.replace(desired, spec=spec), current=dataset, rows=None)
            plan = self._environments.plan(made, part=STAGED)
            if await self._maker.is_complete(plan.paths):
                yield None
                return
            if dataset != desired.spec.datasets.staged:
                # Making it again would begin by removing what the environment serves.
                raise Refusal(DATA_LOST, "the data of the environment is incomplete")
            self._sizes.forget(plan.database)
            await self._maker.remove_all_but(plan.paths, desired.spec.datasets.names)
            yield desired, plan

    async def _copy(
        self, task: Assignment, work: PrepareDataset, desired: WordPress, plan: WordPressPlan
    ) -> None:
        found = self._environments.state.find_spec(layout.check_identifier(work.source))
        if found is None or found.state != "installed":
            raise Refusal("environment.not_found", "the environment to be copied is not on this node")
        uploads = desired.spec.datasets.uploads if work.uploads is None else work.uploads
        source = Source(self._environments.paths(work.source), uploads, found.datasets.schema)
        if work.push is None:
            rows = CopiedRows(work.hosts, plan, task, harmless=True)
            await self._maker.copy(plan, source, task, rows)
            return
        paths = self._environments.paths(desired.environment)
        production = Source(paths, uploads=True, rows=desired.spec.datasets.schema)
        await self._databases.wait_until_ready()
        await review(self._databases.databases.socket, source, production, work.push, task)
        rows = CopiedRows(work.hosts, plan, task, harmless=False)
        await self._maker.push(plan, source, production, work.push, task, rows)

    def _stage(
        self, task: Assignment, dataset: str, settings: WordPressSettings, uploads: bool | None
    ) -> WordPress:
        """Record that the dataset is being made, so that it is limited, counted and removed."""
        before = self._environments.state.find(task.environment)
        if before is not None and dataset in before.spec.datasets.names:
            return before
        self._environments.require_room(settings)
        desired = before or self._environments.record(task, settings, None)
        kept = desired.spec.datasets.uploads if uploads is None else uploads
        datasets = {"staged": dataset} if before else {"staged": dataset, "uploads": kept}
        return self._environments.put(with_datasets(desired, **datasets))

    async def choose(self, desired: WordPress, dataset: str, push: PushMode | None = None) -> WordPress:
        """What the environment should be when it serves the dataset. Nothing is recorded yet."""
        now, paths = desired.spec.datasets, self._environments.paths(desired.environment)
        if dataset in (now.current, now.schema):
            return desired
        if not await self._maker.is_complete(replace(paths, dataset=dataset)):
            raise Refusal(DATA_LOST, "the dataset is not on this node")
        # Otherwise they would go on with the data that is left behind.
        await self._environments.end_users(desired.environment)
        is_new = desired.spec.state == "new"
        changed = with_datasets(
            desired,
            current=now.current if push == "db" else dataset,
            rows=dataset if push == "db" else now.schema if push == "files" else None,
            kept=None if is_new else now.current,
            kept_rows=None if is_new else now.schema,
            kept_release=desired.spec.release,
            staged="",
        )
        return msgspec.structs.replace(changed, spec=msgspec.structs.replace(changed.spec, state="installed"))

    @asynccontextmanager
    async def stopped_for_push(
        self, task: Assignment, served: WordPress, plan: WordPressPlan, mode: PushMode
    ) -> AsyncIterator[None]:
        """Production is stopped, and the new dataset has what its visitors did until then. Their requests
        wait. If something fails, production serves what it has served."""
        name, before = served.environment, self._environments.plan(served)
        hosted = self._hosts.find(name)
        try:
            began = time.monotonic()
            async with hosted.stopped() if hosted else nullcontext():
                await take_over(self._databases.databases, before, plan, mode)
                yield
        except BaseException:
            if self._environments.get(name).spec.datasets == served.spec.datasets:
                await run_uninterrupted(self._attachments.make(before))
            raise
        seconds = time.monotonic() - began
        await task.output.say(f"push: production was stopped for {seconds:.1f} s, and its visitors waited")

    async def leave(self, name: str, datasets: Datasets) -> None:
        """Nothing writes to the dataset any more that the environment served before."""
        if datasets.kept_schema is not None and datasets.kept_schema != datasets.schema:
            await self._databases.databases.keep(EnvironmentId(name), datasets.kept_schema)
        self._services.adopt(name)

    async def discard(self, task: Assignment, work: DiscardDataset) -> None:
        name = layout.check_identifier(task.environment)
        async with self._environments.preparing_lock(name), self._environments.use(task):
            desired = self._environments.state.find(name)
            if desired is None:
                return
            now = desired.spec.datasets
            is_served = work.dataset in (now.current, now.schema)
            if is_served and now.kept is None:
                raise Refusal("environment.malformed", "the environment has no other dataset")
            if is_served:
                rows = None if now.kept_schema == now.kept else now.kept_schema
                desired = with_datasets(desired, current=now.kept, kept=None, rows=rows, kept_rows=None)
                desired = with_release(desired, now.kept_release)
            elif now.staged == work.dataset:
                desired = with_datasets(desired, staged="")
            if desired.spec.state == "installed":
                await self._serve_again(desired)
            else:
                self._environments.put(desired)
            await self._maker.remove(replace(self._environments.paths(name), dataset=work.dataset))

    async def _serve_again(self, desired: WordPress) -> None:
        """Record this, and serve it. Its database was closed, and is opened first: an agent that is killed
        meanwhile serves what is recorded when it starts again."""
        plan = self._environments.plan(desired)
        await self._attachments.make(plan)
        self._environments.put(desired)
        await self._attachments.serve_files(plan)
        hosted = await self._hosts.open(desired.environment, plan, suspended=False)
        await hosted.renew()
        self._services.adopt(desired.environment)

    async def tidy(self) -> None:
        """Remove datasets that nobody needs: what was kept before the last change, or of work that was
        interrupted."""
        environments = self._environments
        await environments.ready.wait()
        for name in environments.state.names():
            if environments.preparing_lock(name).locked():
                # It is tidied next time: a copy may take long.
                continue
            try:
                async with environments.preparing_lock(name), environments.lock(name):
                    if spec := environments.state.find_spec(name):
                        await self._maker.remove_all_but(environments.paths(name), spec.datasets.names)
            except (StatementFailed, ServerUnavailable, ContainerFailed, OSError) as error:
                log.warning("tidying.failed", environment=name, error=type(error).__name__)
