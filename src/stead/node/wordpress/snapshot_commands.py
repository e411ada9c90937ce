"""Commands for the snapshots of WordPress environments: taking, verifying and restoring them."""

import dataclasses
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from stead.node.containers.disks import Disks
from stead.node.containers.runc import Runc
from stead.node.databases.node_databases import NodeDatabases
from stead.node.disk_space import DiskSpace
from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.fair_places import FairPlaces
from stead.node.snapshots.failures import UNSUPPORTED, UNVERIFIED, ContentTooLarge, SnapshotFailed
from stead.node.snapshots.places import SnapshotPlace, clear_all
from stead.node.snapshots.restic import Restic
from stead.node.uninterrupted import run_in_thread, run_uninterrupted
from stead.node.wordpress import files
from stead.node.wordpress.copied_rows import CopiedRows
from stead.node.wordpress.dataset_commands import DatasetCommands
from stead.node.wordpress.datasets import TOO_LARGE, DatasetMaker
from stead.node.wordpress.environments import Environments, with_datasets
from stead.node.wordpress.plan import WordPress, WordPressPlan
from stead.node.wordpress.prober import find_failure
from stead.node.wordpress.script_container import PART
from stead.node.wordpress.snapshot_restoring import SnapshotRestoring, WantedSnapshot, fetch_manifest
from stead.node.wordpress.snapshot_taking import SnapshotTaking
from stead.protocol.work.snapshots import (
    RestoreSnapshot,
    SnapshotTaken,
    SnapshotVerified,
    TakeSnapshot,
    VerifySnapshot,
)

PLACES, PER_TENANT = 2, 1
"""How many snapshots are taken at the same time on a node, and how many of those for one tenant."""
SCRATCH = "verify"
"""The name of a dataset that is restored to be verified begins with it."""
NO_SOCKETS = "no-sockets"


class SnapshotCommands:
    def __init__(
        self,
        home: Path,
        environments: Environments,
        datasets: DatasetCommands,
        maker: DatasetMaker,
        databases: NodeDatabases,
        disks: Disks,
        runc: Runc,
        space: DiskSpace,
        restic: Restic,
    ) -> None:
        """`home` is the directory for what snapshots need on this node."""
        self._home, self._environments, self._datasets, self._maker = home, environments, datasets, maker
        self._databases, self._disks, self._runc, self._restic = databases, disks, runc, restic
        self._taking = SnapshotTaking(disks.run, databases, space)
        self._restoring = SnapshotRestoring(disks.run, databases.databases.socket)
        self._places = FairPlaces(PLACES, PER_TENANT)

    async def take(self, task: Assignment, work: TakeSnapshot) -> SnapshotTaken:
        """The environment serves its visitors meanwhile. A suspended one can be stored, too."""
        name = layout.check_identifier(task.environment)
        async with self._environments.preparing_lock(name):
            plan = self._environments.plan(await self._get_installed(task))
            async with self._places.take(plan.tenant):
                await self._databases.wait_until_ready()
                await files.mount(plan.paths, self._disks)
                place = self._place(name)
                repository = self._restic.open(work.repository, place.cache)
                return await self._taking.take(task, work, plan, repository, place)

    async def verify(self, task: Assignment, work: VerifySnapshot) -> SnapshotVerified:
        name = layout.check_identifier(task.environment)
        async with self._environments.preparing_lock(name):
            desired = await self._get_installed(task)
            plan = self._plan_scratch(desired, work)
            wanted = WantedSnapshot(work.snapshot, work.restic_id, work.manifest_digest)
            repository = self._restic.open(work.repository)
            manifest = await fetch_manifest(repository, wanted, self._place(name).manifest)
            try:
                async with self._maker.scratch(plan, manifest.size_bytes):
                    found = await self._restoring.restore(
                        task, wanted, manifest, plan, repository, self._place(name), every_row=True
                    )
                    await files.attach(plan.paths, self._disks, plan.core, plan.owner)
                    booted = work.boot and await self._boot(task, wanted, plan, desired)
            except Refusal as refusal:
                if refusal.code == TOO_LARGE or isinstance(refusal, ContentTooLarge):
                    raise SnapshotFailed(UNSUPPORTED, refusal.reason) from None
                raise
            finally:
                await run_uninterrupted(self._maker.remove(plan.paths))
        rows = manifest.database.rows if manifest.database else 0
        await task.output.say(f"snapshot: {work.snapshot} is verified")
        return SnapshotVerified(found.files, rows, booted)

    async def restore(self, task: Assignment, work: RestoreSnapshot) -> None:
        wanted = WantedSnapshot(work.snapshot, work.restic_id, work.manifest_digest)
        repository = self._restic.open(work.repository)
        manifest = await fetch_manifest(repository, wanted)
        async with self._datasets.staged(task, work.dataset, work.wordpress) as staged:
            if staged is None:
                return
            _, plan = staged
            rows = self._adapt(task, work, plan)
            place = self._place(layout.check_identifier(task.environment))

            async def fill() -> None:
                change = rows.change_line if rows else None
                await self._restoring.restore(task, wanted, manifest, plan, repository, place, change)

            await self._maker.restore(plan, manifest.size_bytes, fill, adaptation=rows)

    def _adapt(self, task: Assignment, work: RestoreSnapshot, plan: WordPressPlan) -> CopiedRows | None:
        settings = plan.desired.spec.settings
        now = urlsplit(settings.url).hostname
        hosts = [host for host in work.hosts if host != now]
        if not hosts and not settings.is_clone:
            return None
        return CopiedRows(hosts, plan, task, harmless=settings.is_clone)

    async def _get_installed(self, task: Assignment) -> WordPress:
        async with self._environments.use(task) as name:
            desired = self._environments.state.find(name)
            if desired is None or desired.spec.state != "installed":
                raise Refusal("environment.not_found", "the environment is not on this node")
            return desired

    def _plan_scratch(self, desired: WordPress, work: VerifySnapshot) -> WordPressPlan:
        """Beside everything else that the environment has."""
        settings = work.wordpress or desired.spec.settings
        spec = msgspec.structs.replace(desired.spec, settings=settings)
        name = f"{SCRATCH}{work.snapshot[-14:].lower()}"
        scratch = with_datasets(msgspec.structs.replace(desired, spec=spec), current=name, rows=None)
        return self._environments.plan(scratch, part=PART)

    async def _boot(
        self, task: Assignment, wanted: WantedSnapshot, plan: WordPressPlan, desired: WordPress
    ) -> bool:
        """Whether WordPress answers, without network. A site that does not answer now either may have been
        stored exactly as it was."""
        nothing = self._place(plan.paths.environment).home / NO_SOCKETS
        await run_in_thread(_make_directory, nothing)
        host = urlsplit(plan.desired.spec.settings.url).hostname or ""
        isolated = dataclasses.replace(plan, sockets=nothing)
        failure = await find_failure(isolated, self._runc, host, task)
        if not failure:
            return True
        await task.output.say("snapshot: the restored site fails; trying what visitors see now")
        now = dataclasses.replace(self._environments.plan(desired, part=PART), sockets=nothing)
        if await find_failure(now, self._runc, host, task):
            await task.output.say("snapshot: both fail, so the snapshot is not the reason")
            return False
        raise SnapshotFailed(UNVERIFIED, f"WordPress restored from {wanted.snapshot} fails: {failure}")

    def _place(self, environment: str) -> SnapshotPlace:
        return SnapshotPlace(self._home / environment)

    def clear(self) -> None:
        """Remove what work that was interrupted has left. Blocks."""
        clear_all(self._home)

    def remove(self, environment: str) -> None:
        """Blocks."""
        self._place(environment).remove()


def _make_directory(directory: Path) -> None:
    directory.mkdir(mode=0o755, exist_ok=True)
    directory.chmod(0o755)
