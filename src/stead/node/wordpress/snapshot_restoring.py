"""Fills a dataset with the content of a snapshot, and compares it with the manifest of the snapshot.

Files and rows are restored at the same time, and the dump goes from the repository to MariaDB without a file.
Nothing in a repository is trusted: files are written as the user of the site, where links lead nowhere, and
the dump is loaded like one of a customer.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stead.mariadb.connection import StatementFailed, connect
from stead.node.containers.disks import is_full
from stead.node.databases.dump_digest import DumpDigest, TableDigest
from stead.node.databases.dumps import DumpFailed, dump_again
from stead.node.databases.loading import ChangeLine, LoadFailed, load_stream
from stead.node.databases.names import quote_name
from stead.node.drivers.driver import Assignment
from stead.node.processes import Run
from stead.node.progress import Progress
from stead.node.snapshots.exposed import exposed
from stead.node.snapshots.failures import DAMAGED, DISK_FULL, INTERRUPTED, ContentTooLarge, SnapshotFailed
from stead.node.snapshots.places import SnapshotPlace
from stead.node.snapshots.restic import Repository
from stead.node.snapshots.together import run_together
from stead.node.snapshots.tree_scan import Comparison, ScanFailed, TreeScan, compare
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.plan import WordPressPlan
from stead.node.wordpress.snapshot_taking import content_bound, list_of
from stead.protocol.snapshot_manifest import (
    DATABASE,
    FILE_LIST,
    FILES,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    ManifestUnreadable,
    SnapshotDatabase,
    SnapshotManifest,
    digest_of,
    digest_of_file,
    read_manifest,
)

_TARGET = "restored"
_MIN_FREE_BYTES = 4 << 20


@dataclass(frozen=True)
class WantedSnapshot:
    snapshot: str
    restic_id: str
    manifest_digest: str


async def fetch_manifest(
    repository: Repository, wanted: WantedSnapshot, known: Path | None = None
) -> SnapshotManifest:
    """Of a snapshot of a WordPress environment. `known` is a file in which it may be: its digest tells. The
    stored one is compared with it when the snapshot is restored. Raises SnapshotFailed."""
    try:
        data = await run_in_thread(_read_known, known, wanted.manifest_digest)
        if data is None:
            data = await repository.read(wanted.restic_id, MANIFEST, MAX_MANIFEST_BYTES)
        manifest = read_manifest(data, wanted.manifest_digest)
    except ManifestUnreadable as unreadable:
        raise SnapshotFailed(DAMAGED, f"{wanted.snapshot} is damaged: {unreadable}") from None
    except SnapshotFailed as failure:
        raise name_snapshot(failure, wanted) from None
    if manifest.snapshot != wanted.snapshot or manifest.database is None or manifest.files is None:
        raise SnapshotFailed(DAMAGED, f"{wanted.snapshot} is damaged: it is not one of this site")
    return manifest


def _read_known(file: Path | None, digest: str) -> bytes | None:
    if file is None or not file.exists():
        return None
    data = file.read_bytes()
    return data if digest_of(data) == digest else None


def name_snapshot(failure: SnapshotFailed, wanted: WantedSnapshot) -> SnapshotFailed:
    if failure.code != DAMAGED or wanted.snapshot in failure.reason:
        return failure
    return SnapshotFailed(DAMAGED, f"{wanted.snapshot} is damaged: {failure.reason}")


class SnapshotRestoring:
    def __init__(self, run: Run, socket: Path) -> None:
        self._run, self._socket = run, socket

    async def restore(
        self,
        task: Assignment,
        wanted: WantedSnapshot,
        manifest: SnapshotManifest,
        plan: WordPressPlan,
        repository: Repository,
        place: SnapshotPlace,
        change_line: ChangeLine | None = None,
        *,
        every_row: bool = False,
    ) -> Comparison:
        """Fill the dataset of the plan, which is empty. With `every_row`, all rows are read again and
        compared, not only counted. Raises SnapshotFailed."""
        database, digest = _database_of(manifest), DumpDigest()
        compared: list[Comparison] = []

        async def check_files() -> None:
            compared.append(await run_in_thread(self._compare_files, wanted, plan, manifest))

        async def check_rows() -> None:
            if every_row:
                await self._compare_rows(plan, database)
            else:
                await run_in_thread(self._count_rows, plan, database)

        await run_in_thread(place.make_empty)
        try:
            await run_together(
                self._restore_files(wanted, plan, repository, place),
                self._load(task, wanted, plan, repository, digest, database, change_line),
            )
            await run_together(check_files(), check_rows())
            await run_in_thread(_move_files, plan)
        except SnapshotFailed as failure:
            raise name_snapshot(failure, wanted) from None
        except ScanFailed as failure:
            raise SnapshotFailed(INTERRUPTED, str(failure)) from None
        finally:
            await run_in_thread(place.clear)
        (found,) = compared
        meanwhile = (
            f"; {found.changed_meanwhile} changed during the snapshot" if found.changed_meanwhile else ""
        )
        await task.output.say(
            f"snapshot: {wanted.snapshot}: {database.rows} rows, {found.files} files are restored{meanwhile}"
        )
        return found

    async def _restore_files(
        self, wanted: WantedSnapshot, plan: WordPressPlan, repository: Repository, place: SnapshotPlace
    ) -> None:
        target = plan.paths.disk / _TARGET
        await run_in_thread(_make_target, target, plan.owner)
        try:
            async with exposed(self._run, target, place.tree / _TARGET, writable=True):
                await repository.restore(
                    wanted.restic_id, place.tree / _TARGET, plan.owner, without=(DATABASE,)
                )
        except SnapshotFailed as failure:
            if failure.code in {DISK_FULL, INTERRUPTED} and is_full(plan.paths.disk):
                raise ContentTooLarge(DISK_FULL, "the files do not fit on the disk of the site") from None
            raise

    async def _load(
        self,
        task: Assignment,
        wanted: WantedSnapshot,
        plan: WordPressPlan,
        repository: Repository,
        digest: DumpDigest,
        database: SnapshotDatabase,
        change_line: ChangeLine | None,
    ) -> None:
        reading, writing = os.pipe()
        try:
            progress = Progress(task.output, "database, writing", database.bytes)
            await run_together(
                self._fetch_dump(wanted, repository, writing),
                load_stream(
                    self._run,
                    self._socket,
                    plan.database,
                    plan.desired.secrets.database_password,
                    reading,
                    digest,
                    progress,
                    change_line,
                ),
            )
        except LoadFailed as failure:
            raise SnapshotFailed(INTERRUPTED, str(failure)) from None
        if (digest.bytes, digest.digest) != (database.bytes, database.digest):
            raise SnapshotFailed(DAMAGED, "its database is not the one of its manifest")

    async def _fetch_dump(self, wanted: WantedSnapshot, repository: Repository, writing: int) -> None:
        try:
            await repository.write_to(writing, wanted.restic_id, DATABASE)
        finally:
            os.close(writing)

    def _count_rows(self, plan: WordPressPlan, database: SnapshotDatabase) -> None:
        """Blocks."""
        with connect(self._socket) as connection:
            for table in database.tables:
                name = f"{quote_name(plan.database)}.{quote_name(table.name)}"
                try:
                    ((rows,),) = connection.execute(f"SELECT COUNT(*) FROM {name}")  # noqa: S608
                except StatementFailed:
                    rows = 0
                if rows != table.rows:
                    raise SnapshotFailed(DAMAGED, f"the table {table.name} has {rows!r} of {table.rows} rows")

    def _compare_files(
        self, wanted: WantedSnapshot, plan: WordPressPlan, manifest: SnapshotManifest
    ) -> Comparison:
        """Blocks."""
        target = plan.paths.disk / _TARGET
        stored = target / MANIFEST
        if _digest(stored) != wanted.manifest_digest:
            raise SnapshotFailed(DAMAGED, "its manifest is another one")
        file, files = target / FILE_LIST, manifest.files
        assert files is not None  # noqa: S101
        if _digest(file) != files.digest:
            raise SnapshotFailed(DAMAGED, "its list of files is not the one of its manifest")
        if not (target / FILES).is_dir() or (target / FILES).is_symlink():
            raise SnapshotFailed(DAMAGED, "it has no files")
        scan = TreeScan(target / FILES, max_bytes=content_bound(plan))
        result = compare(list_of(file), scan.entries(), manifest.began_at)
        if result.damaged is not None:
            path = os.fsdecode(result.damaged)
            raise SnapshotFailed(DAMAGED, f"the file {path!r} is missing or has another content")
        return result

    async def _compare_rows(self, plan: WordPressPlan, database: SnapshotDatabase) -> None:
        """Read all rows again, and compare their checksums with the manifest. Raises SnapshotFailed."""
        digest = DumpDigest(whole=False)
        try:
            await dump_again(self._run, self._socket, plan.database, digest)
        except DumpFailed as failure:
            raise SnapshotFailed(INTERRUPTED, str(failure)) from None
        version = await run_in_thread(self._server_version)
        if table := _find_difference(database, digest.tables, checksums=version == database.server):
            raise SnapshotFailed(DAMAGED, f"the rows of the table {table} are not those of its manifest")

    def _server_version(self) -> str:
        with connect(self._socket) as connection:
            ((version,),) = connection.execute("SELECT VERSION()")
        return str(version)


def _database_of(manifest: SnapshotManifest) -> SnapshotDatabase:
    assert manifest.database is not None  # noqa: S101
    return manifest.database


def _find_difference(database: SnapshotDatabase, found: Mapping[str, TableDigest], *, checksums: bool) -> str:
    """The name of a table whose rows differ. Another version of MariaDB may write the same values in another
    way, so only their number counts then."""
    for table in database.tables:
        got = found.get(table.name, TableDigest())
        if got.rows != table.rows or (checksums and got.checksum != table.checksum):
            return table.name
    known = {table.name for table in database.tables}
    return next((name for name, table in found.items() if table.rows and name not in known), "")


def _digest(file: Path) -> str:
    """Empty if it is not a file."""
    if file.is_symlink() or not file.is_file():
        return ""
    with file.open("rb") as opened:
        return digest_of_file(opened)


def _make_target(target: Path, owner: int) -> None:
    if target.exists():
        shutil.rmtree(target)
    target.mkdir(mode=0o700)
    os.chown(target, owner, owner)


def _move_files(plan: WordPressPlan) -> None:
    target = plan.paths.disk / _TARGET
    plan.paths.site.mkdir(exist_ok=True)
    (target / FILES).rename(plan.paths.content)
    shutil.rmtree(target)
