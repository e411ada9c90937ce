"""The driver of WordPress environments.

It makes, restarts, suspends and removes them. The commands for their code and data are `ReleaseCommands` and
`DatasetCommands`; what happens without a command is `Upkeep`.
"""

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import structlog

from stead.node.containers.disks import Disks, mounted_below
from stead.node.containers.egress_rules import EgressRules
from stead.node.containers.limits import MEMORY
from stead.node.containers.runc import Runc
from stead.node.databases.node_databases import NodeDatabases
from stead.node.databases.size_limits import SizeLimits
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal, SiteContainer, SiteLog, SiteSpan
from stead.node.drivers.releases import Releases
from stead.node.hosting.environment import HostedEnvironment, WakeFailed
from stead.node.hosting.hosts import Hosts
from stead.node.images.image_store import ImageStore
from stead.node.images.on_demand import ImageMaker
from stead.node.images.recipe import ImageUnavailable
from stead.node.scanning.scanner import Scanner, is_installed
from stead.node.snapshots.restic import Restic
from stead.node.uninterrupted import run_in_thread, run_uninterrupted
from stead.node.wordpress import files
from stead.node.wordpress.attachments import Attachments
from stead.node.wordpress.cms_commands import CmsCommands
from stead.node.wordpress.commands import Commands
from stead.node.wordpress.compiled_core import CoreCompiler
from stead.node.wordpress.component_registry import PUBLIC_REGISTRY, Registry
from stead.node.wordpress.dataset_commands import DatasetCommands
from stead.node.wordpress.datasets import DatasetMaker
from stead.node.wordpress.environments import Environments, State
from stead.node.wordpress.installer import DATA_LOST, install, remove_leftovers
from stead.node.wordpress.passwords import set_password
from stead.node.wordpress.paths import container_prefix
from stead.node.wordpress.php_versions import PhpVersions
from stead.node.wordpress.plan import WordPress, WordPressPlan
from stead.node.wordpress.release_commands import ReleaseCommands
from stead.node.wordpress.scan_commands import ScanCommands
from stead.node.wordpress.site_services import SiteServices
from stead.node.wordpress.snapshot_commands import SnapshotCommands
from stead.node.wordpress.upkeep import ListSuspended, Upkeep
from stead.protocol.commands import CapturedMail
from stead.protocol.questions import Question
from stead.protocol.work import (
    ChangeComponents,
    ChangeContent,
    CheckPhp,
    DiscardDataset,
    EnsureEnvironment,
    EnsureRelease,
    ExportDatabase,
    PrepareDataset,
    Probe,
    QuarantineFiles,
    RemoveEnvironment,
    RestartEnvironment,
    RestoreFile,
    RestoreSnapshot,
    RunCommand,
    ScanEnvironment,
    SetPassword,
    SuspendEnvironment,
    SwitchPhp,
    TakeSnapshot,
    VerifySnapshot,
)
from stead.shared.ids import EnvironmentId

log = structlog.get_logger()


class WordPressRuntime(Driver):
    def __init__(
        self,
        data: Path,
        state: State,
        hosts: Hosts,
        databases: NodeDatabases,
        images: ImageStore,
        disks: Disks,
        runc: Runc,
        egress: EgressRules,
        space: DiskSpace,
        releases: Releases,
        services: SiteServices,
        refresh_egress: Callable[[], None] = lambda: None,
        list_suspended: ListSuspended = lambda _: {},
        *,
        keep_running: bool = True,
        disk_overcommit: float = 1.0,
        image_maker: ImageMaker | None = None,
        restic: Restic | None = None,
        registry: Registry = PUBLIC_REGISTRY,
        signatures: Path | None = None,
    ) -> None:
        """`refresh_egress` updates the addresses of the platform, which no site reaches. `list_suspended`
        returns which of the given environments the edges know as suspended, and since when. Both may block.
        `disk_overcommit` is how much more disk space may be promised than there is. `image_maker` makes
        images that are missing; without it such sites are refused. `signatures` is a directory of the
        operator, for scans."""
        self._keep_running = keep_running
        self._hosts, self._databases, self._disks, self._runc = hosts, databases, disks, runc
        self._services = services
        sizes = SizeLimits(databases.databases.socket)
        self.environments = Environments(
            *(data, state, databases, images, space), disk_overcommit=disk_overcommit, image_maker=image_maker
        )
        self._attachments = Attachments(
            *(self.environments, hosts, databases, disks, egress, space, services, sizes)
        )
        self._maker = DatasetMaker(data / "hosting" / "dumps", databases, disks, runc, space)
        self.datasets = DatasetCommands(
            *(self.environments, self._maker, self._attachments, hosts, databases, services, sizes)
        )
        self.snapshots = SnapshotCommands(
            *(data / "hosting" / "snapshots", self.environments, self.datasets, self._maker, databases),
            *(disks, runc, space, restic or Restic(disks.run)),
        )
        self._scanner = Scanner(data / "scanner", disks.run, signatures)
        self.cms = CmsCommands(
            *(data / "hosting", self.environments, hosts, databases, runc, disks.run, space),
            *(services, registry, self.plan_program),
        )
        self.scans = ScanCommands(
            *(data / "hosting" / "scans", self.environments, databases, disks, self._scanner),
            *(self.cms.queries, space),
        )
        self.releases = ReleaseCommands(
            *(self.environments, releases, self._attachments, databases, runc),
            self.scans.checksums,
        )
        self._commands = Commands(runc, hosts.budget, data / "hosting" / "commands")
        self._php = PhpVersions(
            *(state, hosts, images, image_maker, runc, databases),
            self.environments.plan,
            self.environments.release_images,
        )
        compiler = CoreCompiler(runc, MEMORY, f"{container_prefix(data)}compile-")
        self.upkeep = Upkeep(
            *(self.environments, self._attachments, hosts, images, compiler, services.schedule, sizes),
            *(self._suspend, refresh_egress, list_suspended),
        )

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(EnsureEnvironment, self.ensure_environment, ("cms",)),
            Handler(RestartEnvironment, self.restart_environment, ("cms",)),
            Handler(SuspendEnvironment, self.suspend_environment, ("cms",)),
            Handler(EnsureRelease, self.releases.ensure, ("cms",)),
            Handler(Probe, self.releases.probe, ("cms",)),
            Handler(RunCommand, self.run_command, ("cms",)),
            Handler(PrepareDataset, self.datasets.prepare, ("cms",)),
            Handler(DiscardDataset, self.datasets.discard, ("cms",)),
            Handler(TakeSnapshot, self.snapshots.take, ("cms",)),
            Handler(VerifySnapshot, self.snapshots.verify, ("cms",)),
            Handler(RestoreSnapshot, self.snapshots.restore, ("cms",)),
            *self._scan_handlers,
            Handler(CheckPhp, self.check_php, ("cms",)),
            Handler(SwitchPhp, self.switch_php, ("cms",)),
            Handler(SetPassword, self.set_password, ("cms",)),
            Handler(ChangeComponents, self.cms.change_components, ("cms",)),
            Handler(ChangeContent, self.cms.change_content, ("cms",)),
            Handler(ExportDatabase, self.cms.export_database, ("cms",)),
            Handler(RemoveEnvironment, self.remove_environment),
        ]

    @property
    def _scan_handlers(self) -> Sequence[Handler[Any]]:
        """Without clamd, a node refuses to scan: half a scan is none."""
        if not is_installed():
            return []
        return [
            Handler(ScanEnvironment, self.scans.scan, ("cms",)),
            Handler(QuarantineFiles, self.scans.quarantine, ("cms",)),
            Handler(RestoreFile, self.scans.restore, ("cms",)),
        ]

    async def list_environments(self) -> Collection[str]:
        return self.environments.state.names()

    def room_mb(self) -> int:
        return self.environments.room_mb()

    async def answer(self, question: Question) -> bytes | None:
        return await self.cms.answer(question)

    def is_awake(self, environment: str) -> bool:
        hosted = self._hosts.find(environment)
        return hosted is not None and hosted.state == "awake"

    def count_purges(self, environment: str) -> int:
        return self._services.count_purges(environment)

    def list_logs(self) -> Sequence[SiteLog]:
        names = self.environments.state.names()
        return [SiteLog(name, self.environments.paths(name).log, "php") for name in names]

    def list_containers(self) -> Sequence[SiteContainer]:
        names = [name for name in self.environments.state.names() if self.is_awake(name)]
        return [SiteContainer(name, self.environments.paths(name).container.cgroup, "php") for name in names]

    def take_spans(self) -> Sequence[SiteSpan]:
        return self._services.traces.take_spans()

    def find_trace(self, environment: str, line: str) -> str:
        return self._services.traces.find_trace(environment, line)

    def list_captured_mail(self) -> Sequence[CapturedMail]:
        return self._services.captured.list_mails()

    def list_changed_components(self) -> Mapping[str, float]:
        return self._services.components_changed

    def background_tasks(self) -> Mapping[str, Callable[[], Coroutine[Any, Any, None]]]:
        return {
            "wordpress.host": self.run,
            "databases.run": self._databases.run,
            **self.upkeep.background_tasks(),
            **self._services.background_tasks(),
        }

    async def run(self) -> None:
        """Bring all environments back, then put idle ones to sleep, until cancelled."""
        names = self.environments.state.names()
        if names:
            self._databases.need()
        await self._attachments.open_gate(names)
        await self._runc.remove_leftovers()
        await run_in_thread(self._maker.remove_interrupted_dumps)
        await run_in_thread(self.snapshots.clear)
        await run_in_thread(self.cms.clear)
        known = [self.environments.paths(name).container_name for name in names]
        await self._hosts.remove_unknown_containers(known, self.environments.data / "hosting")
        for name in names:
            await run_in_thread(remove_leftovers, self.environments.paths(name))
            await self._attachments.bring_back(name)
        self.environments.ready.set()
        log.info("wordpress.ready", environments=len(names))
        try:
            await self._hosts.run(self._tidy_environment)
        finally:
            await run_uninterrupted(self._stop())

    async def _stop(self) -> None:
        await self._scanner.stop()
        await self._hosts.close(keep_running=self._keep_running)
        await self._attachments.close()
        if not self._keep_running:
            if self._databases.gate is not None:
                await self._databases.gate.stop()
            for name in self.environments.state.names():
                for disk in mounted_below(self.environments.paths(name).home):
                    await self._disks.unmount(disk)

    async def ensure_environment(self, task: Assignment, work: EnsureEnvironment) -> None:
        if work.wordpress is None:
            raise Refusal("environment.malformed", "a WordPress environment needs its settings")
        await self.environments.make_images(work.wordpress, task.output)
        async with self.environments.use(task) as name:
            before = self.environments.state.find(name)
            if before is None:
                self.environments.require_room(work.wordpress)
            # WordPress is installed with the code that comes with it: broken code of a customer cannot break
            # the installation.
            desired = self.environments.record(task, work.wordpress, before)
            served, now = desired, desired.spec.datasets
            if work.dataset:
                desired = await self.datasets.choose(desired, work.dataset, work.push)
            if desired.spec.state == "new" and not work.wordpress.admin_password:
                # It was installed before, on another node or before its files were lost.
                await run_in_thread(files.mark_lost, self.environments.paths(name))
                raise Refusal(DATA_LOST, "the files and the database of the site are not on this node")
            plan = self.environments.plan(desired)
            await self._attachments.make(plan)
            if desired.spec.state == "new":
                await task.output.say("wordpress: installing")
                await install(plan, self._runc, work.wordpress, task)
                desired = self._mark_installed(desired)
            async with AsyncExitStack() as stack:
                if work.push is not None and desired.spec.datasets != now:
                    await stack.enter_async_context(
                        self.datasets.stopped_for_push(task, served, plan, work.push)
                    )
                if work.wordpress.git_managed or work.dataset:
                    desired = await self.releases.change(task, desired, work.release)
                    plan = self.environments.plan(desired)
                hosted = await self._hosts.open(name, plan, suspended=False)
            # Not compared with what was desired before: a command that was interrupted has changed that.
            await hosted.renew()
            await hosted.wake()
            if work.dataset:
                await self.datasets.leave(name, desired.spec.datasets)
        if work.release is not None:
            await self.releases.collect()
        await task.output.say("wordpress: the environment is running")

    async def restart_environment(self, task: Assignment, _: RestartEnvironment) -> None:
        async with self.environments.use(task) as name:
            hosted = self._hosts.find(name)
            if hosted is None:
                raise Refusal("environment.not_found", "the environment is not on this node")
            await hosted.restart()
        await task.output.say("wordpress: PHP was restarted")

    async def suspend_environment(self, task: Assignment, _: SuspendEnvironment) -> None:
        """The environment stays suspended after a restart of the agent. Nobody can use its database."""
        async with self.environments.use(task) as name:
            if self.environments.state.find_spec(name) is None:
                return
            await self._suspend(name)
        await task.output.say("wordpress: no process runs; files and database are kept")

    async def _suspend(self, name: str) -> None:
        self.environments.state.set_suspended(name, suspended=True)
        await self.environments.end_users(name)
        await self._hosts.suspend(name, self.environments.paths(name).container)
        await self._databases.wait_until_ready()
        schema = self.environments.get(name).spec.datasets.schema
        await self._databases.databases.keep(EnvironmentId(name), schema)

    def before_closing(self, end: Callable[[str], Awaitable[None]]) -> None:
        self.environments.before_closing(end)

    async def run_command(self, task: Assignment, work: RunCommand) -> None:
        """It needs no running site, so a sleeping one is not woken."""
        await self._commands.run(await self.plan_program(task.environment), work, task)

    async def plan_program(self, environment: str) -> WordPressPlan:
        """For a program beside the site, in a container of its own. Raises Refusal."""
        async with self.environments.hold(environment) as name:
            desired = self.environments.state.find(name)
            if desired is None or desired.spec.state != "installed":
                raise Refusal("environment.not_found", "the environment is not on this node")
            if desired.suspended:
                raise Refusal("exec.failed", "the environment is suspended")
            plan = self.environments.plan(desired)
            await self._databases.wait_until_ready()
        return plan

    async def check_php(self, task: Assignment, work: CheckPhp) -> None:
        """Visitors are served meanwhile."""
        async with _refusing_missing_images():
            await self._php.make_images(work, self.environments.state.find(task.environment), task.output)
        async with self.environments.use(task) as name, _refusing_missing_images():
            await self._php.check(task, self.environments.state.find(name), work)

    async def switch_php(self, task: Assignment, work: SwitchPhp) -> None:
        async with self.environments.use(task) as name, _refusing_missing_images():
            await self._php.switch(task, self.environments.state.find(name), work)
        self.environments.images_changed.set()

    async def set_password(self, task: Assignment, work: SetPassword) -> None:
        async with self.environments.use(task) as name:
            spec, hosted = self.environments.state.find_spec(name), self._hosts.find(name)
            if spec is None or hosted is None or spec.state != "installed":
                raise Refusal("environment.not_found", "the environment is not on this node")
            await self._databases.wait_until_ready()
            await set_password(hosted, self.environments.paths(name), spec.settings.url, work)
        await task.output.say(f"wordpress: {work.user} has a new password and is signed out everywhere")

    async def remove_environment(self, task: Assignment, _: RemoveEnvironment) -> None:
        async with self.environments.preparing_lock(task.environment), self.environments.use(task) as name:
            if self.environments.state.find_spec(name) is None:
                return
            await self.environments.end_users(name)
            await self._hosts.remove(name, self.environments.paths(name).container)
            await self._attachments.remove(name)
            await run_in_thread(self._maker.remove_dumps, name)
            await run_in_thread(self.snapshots.remove, name)
            await run_in_thread(self.scans.remove, name)
            self.environments.release_images(name)
            self.environments.state.remove(name)

    async def tidy(self) -> None:
        await self.datasets.tidy()

    async def wake(self, environment: str) -> HostedEnvironment:
        """The one way to have an environment running. Raises WakeFailed."""
        await self.environments.ready.wait()
        hosted = self._hosts.find(environment)
        if hosted is None:
            raise WakeFailed("the environment is not on this node")
        await hosted.wake()
        return hosted

    def _mark_installed(self, desired: WordPress) -> WordPress:
        spec = msgspec.structs.replace(desired.spec, state="installed")
        return self.environments.put(msgspec.structs.replace(desired, spec=spec))

    async def _tidy_environment(self, name: str) -> None:
        with contextlib.suppress(OSError):
            await run_in_thread(files.truncate_log, self.environments.paths(name))


@asynccontextmanager
async def _refusing_missing_images() -> AsyncIterator[None]:
    try:
        yield
    except ImageUnavailable as unavailable:
        raise Refusal("runtime.unsupported", str(unavailable)) from None
