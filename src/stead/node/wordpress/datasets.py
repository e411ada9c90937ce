"""Makes a dataset, a disk and a schema, beside the one that an environment serves.

It is made out of sight: filled from another environment, or with a new installation. A file on its disk says
that it is complete. Until then it is discarded and made again when the work is repeated.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from secrets import token_urlsafe
from typing import Protocol, TypeVar

import msgspec

from stead.node.containers.disks import Disks
from stead.node.containers.limits import MB, ContainerFailed
from stead.node.containers.runc import Runc
from stead.node.databases.databases import DatabaseLimits
from stead.node.databases.dumps import DumpFailed, dump, dump_bound, read_back
from stead.node.databases.loading import LoadFailed, load
from stead.node.databases.names import schema_name
from stead.node.databases.node_databases import NodeDatabases
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Assignment, Output, Refusal
from stead.node.drivers.layout import remove_files, sync_directory, write_file
from stead.node.fair_places import FairPlaces
from stead.node.processes import StreamName
from stead.node.progress import Progress
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress import files
from stead.node.wordpress.installer import install
from stead.node.wordpress.paths import EnvironmentPaths
from stead.node.wordpress.plan import WordPressPlan
from stead.node.wordpress.release_layout import UPLOADS
from stead.node.wordpress.tree_copy import CopyFailed, TreeCopy, TreeSize
from stead.protocol.work.hosting import PushMode, WordPressSettings
from stead.shared.ids import EnvironmentId

FAILED, TOO_LARGE = "environment.copy_failed", "environment.too_large"
UNVERIFIED = "backup.unverified"
PLACES, PER_TENANT = 3, 1
"""How many datasets are made at the same time on a node, and how many of those for one tenant."""
PART = "staged"
"""The directory of the files in memory of a dataset that is being made."""
_BEFORE = ".before.sql"
"""The end of the name of a dump that is kept after a push."""
_POLL_SECONDS = 0.2

T = TypeVar("T")


class Adaptation(Protocol):
    """Changes the rows of a copy before anybody sees it."""

    def change_line(self, line: bytes) -> bytes:
        """Of the dump, while it is loaded."""
        ...

    async def finish(self) -> None:
        """Change what is left. Raises DatasetFailed."""
        ...


@dataclass(frozen=True)
class Source:
    """The environment that is copied."""

    paths: EnvironmentPaths
    """With its current dataset."""
    uploads: bool
    rows: str = ""
    """The dataset whose schema it uses."""

    @property
    def environment(self) -> EnvironmentId:
        return EnvironmentId(self.paths.environment)


class DatasetFailed(Exception):
    """The dataset cannot be made; the message says why."""


class DatasetMaker:
    def __init__(
        self, dumps: Path, databases: NodeDatabases, disks: Disks, runc: Runc, space: DiskSpace
    ) -> None:
        """`dumps` is the directory of the dumps that are being loaded."""
        self._dumps, self._databases, self._disks, self._runc, self._space = (
            dumps,
            databases,
            disks,
            runc,
            space,
        )
        self._places = FairPlaces(PLACES, PER_TENANT)

    async def is_complete(self, paths: EnvironmentPaths) -> bool:
        if not paths.disk_file.exists():
            return False
        await files.mount(paths, self._disks)
        return paths.complete.exists()

    async def copy(
        self, plan: WordPressPlan, source: Source, task: Assignment, adaptation: Adaptation
    ) -> None:
        """Fill the dataset of the plan with what the source has now. Nothing of the source is changed, and it
        can be used meanwhile."""
        async with self._places.take(plan.tenant):
            copy = TreeCopy(
                source.paths.content, plan.paths.content, plan.owner, () if source.uploads else (UPLOADS,)
            )
            await self._databases.wait_until_ready()
            rows = await self._databases.databases.measure(source.environment, source.rows)
            size = await _measure(copy)
            limit = plan.desired.spec.settings.disk_mb * MB
            if max(size.bytes, rows) > limit:
                raise Refusal(TOO_LARGE, f"the content does not fit on a disk of {limit // MB} MB")
            with self._space.reserve(size.bytes + rows + dump_bound(rows)):
                try:
                    await self._make_empty(plan)
                    await self._fill(plan, source, copy, task.output, size.bytes, rows, adaptation)
                except (CopyFailed, DumpFailed, LoadFailed, DatasetFailed) as failure:
                    raise Refusal(FAILED, str(failure)) from None
                await self._complete(plan)

    async def push(
        self,
        plan: WordPressPlan,
        source: Source,
        production: Source,
        mode: PushMode,
        task: Assignment,
        adaptation: Adaptation,
    ) -> None:
        """Fill the part of the dataset that the mode names with what the source has now. Production has been
        read completely before, and is not changed."""
        async with self._places.take(plan.tenant):
            await self._databases.wait_until_ready()
            copy, uploads = copies_of(plan, source, production)
            size = 0
            if mode != "db":
                size = (await _measure(copy)).bytes + (await run_in_thread(uploads.measure)).bytes
            rows = await self._databases.databases.measure(source.environment, source.rows)
            own = await self._databases.databases.measure(production.environment, production.rows)
            limit = plan.desired.spec.settings.disk_mb * MB
            if size > limit or (mode != "files" and rows > limit):
                raise Refusal(TOO_LARGE, f"the content does not fit on a disk of {limit // MB} MB")
            with self._space.reserve(size + rows + dump_bound(rows) + own + dump_bound(own)):
                try:
                    await self._make_empty(plan)
                    await self._verify(plan, production, mode, task.output, own)
                    plan.paths.site.mkdir()
                    if mode != "db":
                        plan.paths.content.mkdir()
                        await self._copy_files(copy, Progress(task.output, "files", size))
                        await self._copy_files(uploads, Progress(task.output, "uploads of production"))
                    if mode != "files":
                        await self._copy_rows(plan, source, task.output, rows, adaptation)
                    await files.attach(plan.paths, self._disks, plan.core, plan.owner)
                except (CopyFailed, DumpFailed, LoadFailed, DatasetFailed) as failure:
                    raise Refusal(FAILED, str(failure)) from None
                await self._complete(plan)

    async def restore(
        self,
        plan: WordPressPlan,
        size: int,
        fill: Callable[[], Awaitable[None]],
        *,
        adaptation: Adaptation | None,
    ) -> None:
        """Fill the dataset of the plan with the files and rows that `fill` makes, of so many bytes."""
        async with self.scratch(plan, size):
            try:
                await fill()
                if adaptation is not None:
                    await adaptation.finish()
                await files.attach(plan.paths, self._disks, plan.core, plan.owner)
            except DatasetFailed as failure:
                raise Refusal(FAILED, str(failure)) from None
            await self._complete(plan)

    @asynccontextmanager
    async def scratch(self, plan: WordPressPlan, size: int) -> AsyncIterator[None]:
        """The dataset of the plan is empty in the beginning, and has room for so many bytes."""
        async with self._places.take(plan.tenant):
            limit = plan.desired.spec.settings.disk_mb * MB
            if size > 2 * limit:
                raise Refusal(TOO_LARGE, f"the content does not fit on a disk of {limit // MB} MB")
            await self._databases.wait_until_ready()
            with self._space.reserve(size):
                await self._make_empty(plan)
                yield

    async def _verify(
        self, plan: WordPressPlan, production: Source, mode: PushMode, output: Output, rows: int
    ) -> None:
        """Read everything of production that the push replaces, so that the way back is known to be open. The
        dump stays as long as the new dataset; the disk and the schema of now stay as they are."""
        try:
            if mode != "db":
                reading = TreeCopy(production.paths.content, plan.paths.disk, plan.owner)
                count = await _follow(
                    reading, reading.read_all, Progress(output, "files of production, reading")
                )
                await output.say(f"verified: {count} files of production can be read")
            if mode != "files":
                file = self._copy_before(plan.paths)
                file.parent.mkdir(mode=0o700, exist_ok=True)
                progress = Progress(output, "database of production, copy for the way back", rows)
                schema = schema_name(production.environment, production.rows)
                limit = dump_bound(rows)
                await dump(self._disks.run, self._databases.databases.socket, schema, file, progress, limit)
                size = await run_in_thread(read_back, file)
                await output.say(f"verified: the copy of production's database has {size} bytes and an end")
        except (DumpFailed, OSError) as failure:
            raise Refusal(
                UNVERIFIED, f"the current content of production cannot be read: {failure}"
            ) from None

    async def install(self, plan: WordPressPlan, settings: WordPressSettings, task: Assignment) -> None:
        """Fill the dataset of the plan with a new installation. Nobody knows the password of its
        administrator."""
        async with self._places.take(plan.tenant):
            await self._databases.wait_until_ready()
            with self._space.reserve(settings.disk_mb * MB):
                await self._make_empty(plan)
                await files.attach(plan.paths, self._disks, plan.core, plan.owner)
                secret = msgspec.structs.replace(settings, admin_password=token_urlsafe(24))
                try:
                    await install(plan, self._runc, secret, task)
                finally:
                    await run_in_thread(shutil.rmtree, plan.memory, True)
                await self._complete(plan)

    def remove_interrupted_dumps(self) -> None:
        """A dump that was being loaded contains all rows of a site. Blocks."""
        for file in self._dumps.glob("*.sql"):
            if not file.name.endswith(_BEFORE):
                file.unlink(missing_ok=True)

    def remove_dumps(self, environment: str) -> None:
        """All of an environment that is removed. Blocks."""
        for file in self._dumps.glob(f"{environment}.*.sql"):
            file.unlink(missing_ok=True)

    async def remove(self, paths: EnvironmentPaths) -> None:
        """Remove the schema and the disk of the dataset. Succeeds when there is none."""
        name = EnvironmentId(paths.environment)
        await self._databases.wait_until_ready()
        await self._databases.databases.drop(name, paths.dataset)
        await files.remove_disk(paths, self._disks)
        await run_in_thread(remove_files, self._dump_of(paths), self._copy_before(paths))

    async def remove_all_but(self, paths: EnvironmentPaths, needed: set[str]) -> None:
        """Remove what work that was interrupted has left."""
        name = EnvironmentId(paths.environment)
        await self._databases.wait_until_ready()
        known = {*paths.list_datasets(), *await self._databases.databases.list_datasets(name)}
        for dataset in sorted(known - needed):
            await self.remove(replace(paths, dataset=dataset))

    async def _make_empty(self, plan: WordPressPlan) -> None:
        await self.remove(plan.paths)
        await files.make_disk(plan.paths, self._disks, plan.desired.spec.settings.disk_mb)
        await files.mount(plan.paths, self._disks)
        await self._databases.databases.create(
            EnvironmentId(plan.paths.environment),
            plan.desired.secrets.database_password,
            DatabaseLimits(connections=plan.needs.connections),
            plan.paths.dataset,
        )

    async def _fill(
        self,
        plan: WordPressPlan,
        source: Source,
        copy: TreeCopy,
        output: Output,
        files_size: int,
        rows: int,
        adaptation: Adaptation,
    ) -> None:
        """Files first, then rows, then the files that are new: no row names a file that is missing."""
        plan.paths.site.mkdir()
        await self._copy_files(copy, Progress(output, "files", files_size))
        await self._copy_rows(plan, source, output, rows, adaptation, copy)
        await files.attach(plan.paths, self._disks, plan.core, plan.owner)

    async def _copy_rows(
        self,
        plan: WordPressPlan,
        source: Source,
        output: Output,
        rows: int,
        adaptation: Adaptation,
        copy: TreeCopy | None = None,
    ) -> None:
        file, socket = self._dump_of(plan.paths), self._databases.databases.socket
        file.parent.mkdir(mode=0o700, exist_ok=True)
        try:
            reading = Progress(output, "database, reading", rows)
            schema = schema_name(source.environment, source.rows)
            await dump(self._disks.run, socket, schema, file, reading, dump_bound(rows))
            size = file.stat().st_size
            await reading.finish(size)
            if copy is not None:
                await self._copy_files(copy, Progress(output, "files, those that have changed meanwhile"))
            writing = Progress(output, "database, writing", size)
            own = schema_name(EnvironmentId(plan.paths.environment), plan.paths.dataset)
            password = plan.desired.secrets.database_password
            await load(self._disks.run, socket, own, password, file, writing, adaptation.change_line)
            await writing.finish(size)
        finally:
            await run_in_thread(remove_files, file)
        await adaptation.finish()

    async def _copy_files(self, copy: TreeCopy, progress: Progress) -> None:
        before = copy.bytes
        try:
            await _follow(copy, copy.run, progress)
        except OSError as error:
            raise CopyFailed(f"the files could not be copied: {os.strerror(error.errno or 0)}") from None
        await progress.finish(copy.bytes - before)

    async def _complete(self, plan: WordPressPlan) -> None:
        """From now on it survives a power cut."""
        errors: list[bytes] = []

        async def collect(_: StreamName, data: bytes) -> None:
            errors.append(data)

        if await self._disks.run(["sync", "--file-system", str(plan.paths.disk)], collect):
            raise ContainerFailed("the disk could not be written")
        await run_in_thread(write_file, plan.paths.complete, b"")
        await run_in_thread(sync_directory, plan.paths.disk)

    def _copy_before(self, paths: EnvironmentPaths) -> Path:
        """The database of production before the dataset was pushed."""
        return self._dumps / f"{paths.environment}.{paths.dataset}{_BEFORE}"

    def _dump_of(self, paths: EnvironmentPaths) -> Path:
        return self._dumps / f"{paths.environment}.{paths.dataset}.sql"


def copies_of(plan: WordPressPlan, source: Source, production: Source) -> tuple[TreeCopy, TreeCopy]:
    """The files of the source, and then those uploads of production that the source does not have."""
    return (
        TreeCopy(source.paths.content, plan.paths.content, plan.owner, scratch=plan.paths.scratch),
        copy_missing_uploads(production.paths, plan),
    )


def copy_missing_uploads(paths: EnvironmentPaths, plan: WordPressPlan) -> TreeCopy:
    """Those of an environment that the dataset of the plan does not have. This is repeated with the same
    target, so what an interrupted copy has left must not be in it."""
    return TreeCopy(
        paths.uploads, plan.paths.uploads, plan.owner, only_missing=True, scratch=plan.paths.scratch
    )


async def _follow(copy: TreeCopy, work: Callable[[], T], progress: Progress) -> T:
    """Run a function of the copy and report how far it is. A job that is cancelled stops it."""
    before = copy.bytes
    running = asyncio.ensure_future(run_in_thread(work))
    try:
        while not running.done():
            await asyncio.wait({running}, timeout=_POLL_SECONDS)
            await progress.report(copy.bytes - before)
        return running.result()
    finally:
        copy.stopped = True
        await asyncio.wait({running})
        copy.stopped = False


async def _measure(copy: TreeCopy) -> TreeSize:
    """A job that is cancelled does not wait for it."""
    running = asyncio.ensure_future(run_in_thread(copy.measure))
    try:
        return await asyncio.shield(running)
    except CopyFailed as failure:
        raise Refusal(TOO_LARGE, str(failure)) from None
    finally:
        copy.stopped = True
        await asyncio.wait({running})
        copy.stopped = False
