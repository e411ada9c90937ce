"""Takes a snapshot of a WordPress environment: a dump, the files, and a manifest that describes both.

Visitors are served meanwhile. The dump is consistent in itself. Files are stored as they are when restic
reads them; the manifest says since when they may have changed.
"""

import asyncio
import io
import os
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from hashlib import sha256
from pathlib import Path

from stead.mariadb.connection import connect
from stead.node.databases.dump_digest import DumpDigest
from stead.node.databases.dumps import DumpFailed, DumpUnsupported, dump, dump_bound
from stead.node.databases.node_databases import NodeDatabases
from stead.node.disk_space import MB, DiskSpace
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.drivers.layout import write_file
from stead.node.processes import Run
from stead.node.progress import Progress
from stead.node.snapshots.exposed import exposed
from stead.node.snapshots.failures import DISK_FULL, INTERRUPTED, UNSUPPORTED, SnapshotFailed
from stead.node.snapshots.known_hashes import KnownHashes
from stead.node.snapshots.places import SnapshotPlace
from stead.node.snapshots.restic import ListedEntry, Repository, SnapshotIncomplete, StoredSnapshot
from stead.node.snapshots.together import run_together
from stead.node.snapshots.tree_scan import Entry, ScanFailed, TreeScan, compare, decode
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.plan import WordPressPlan
from stead.protocol.snapshot_manifest import (
    DATABASE,
    FILE_LIST,
    FILES,
    MANIFEST,
    MAX_MANIFEST_BYTES,
    ManifestUnreadable,
    SnapshotDatabase,
    SnapshotFiles,
    SnapshotManifest,
    SnapshotTable,
    digest_of,
    encode_manifest,
    read_manifest,
)
from stead.protocol.work.snapshots import SnapshotTaken, TakeSnapshot
from stead.shared.ids import EnvironmentId

CONTENT = (MANIFEST, FILE_LIST, DATABASE, FILES)
_LIST_BYTES, _LIST_BYTES_PER_FILE = 64 * MB, 256
_LEAST_FREE_BYTES = 32 << 20
_CLOCK_NS = 100_000_000
"""File systems set times with a clock that is a little late."""


@dataclass(frozen=True)
class Bounds:
    """How many bytes the parts of a snapshot may have."""

    dump: int
    list: int
    files: int

    @property
    def reserved(self) -> int:
        """On the disk of the node. The hashes that are remembered are about as long as the list."""
        return self.dump + 2 * self.list


@dataclass
class Content:
    """What is learned while the content is read."""

    began: int
    dump: DumpDigest
    files: SnapshotFiles | None = None
    found: list[StoredSnapshot] | None = None


class SnapshotTaking:
    def __init__(self, run: Run, databases: NodeDatabases, space: DiskSpace) -> None:
        self._run, self._databases, self._space = run, databases, space

    async def take(
        self,
        task: Assignment,
        work: TakeSnapshot,
        plan: WordPressPlan,
        repository: Repository,
        place: SnapshotPlace,
    ) -> SnapshotTaken:
        environment, schema = EnvironmentId(plan.paths.environment), plan.desired.spec.datasets.schema
        rows = await self._databases.databases.measure(environment, schema)
        bounds = Bounds(dump_bound(rows), list_bound(_count_inodes(plan)), content_bound(plan))
        await run_in_thread(place.make_empty)
        try:
            with self._space.reserve(bounds.reserved):
                async with exposed(self._run, plan.paths.content, place.tree / FILES):
                    return await self._store(task, work, plan, repository, place, rows, bounds)
        except (DumpFailed, ScanFailed) as failure:
            self._require_space(place)
            code = UNSUPPORTED if isinstance(failure, (DumpUnsupported, ScanFailed)) else INTERRUPTED
            raise SnapshotFailed(code, str(failure)) from None
        except OSError as error:
            self._require_space(place)
            raise SnapshotFailed(
                INTERRUPTED, f"the content cannot be read: {os.strerror(error.errno or 0)}"
            ) from None
        except Refusal as refusal:
            if refusal.code == "node.short_of_space":
                raise SnapshotFailed(DISK_FULL, refusal.reason) from None
            raise
        finally:
            await run_in_thread(place.clear)

    async def _store(
        self,
        task: Assignment,
        work: TakeSnapshot,
        plan: WordPressPlan,
        repository: Repository,
        place: SnapshotPlace,
        rows: int,
        bounds: Bounds,
    ) -> SnapshotTaken:
        content = Content(time.time_ns() - _CLOCK_NS, DumpDigest())
        await run_together(
            self._look_for(work, repository, place, content),
            self._dump(task, plan, place, content, rows, bounds.dump),
            _list_files(place, content, bounds),
        )
        for stored in content.found or []:
            if taken := await find_complete(repository, stored, work.snapshot):
                await task.output.say(f"snapshot: {work.snapshot} is in the repository already")
                return taken
        manifest = await run_in_thread(self._describe, task, work, plan, content)
        data = encode_manifest(manifest)
        await run_in_thread(write_file, place.tree / MANIFEST, data, mode=0o600)
        await run_in_thread(place.begin_attempt, work.snapshot)
        try:
            summary = await repository.backup(
                place.tree, CONTENT, tag=work.snapshot, host=plan.paths.environment
            )
        except SnapshotIncomplete as incomplete:
            summary = incomplete.summary
            await self._require_complete(repository, summary.snapshot_id, manifest, place)
        restic_id = await _find_id(repository, summary.snapshot_id, work.snapshot)
        await run_in_thread(write_file, place.manifest, data, mode=0o600)
        await task.output.say(
            f"snapshot: {_describe_content(manifest)}; {summary.data_added / (1 << 20):.1f} MB were added"
        )
        return _report(restic_id, manifest, data, summary.data_added)

    async def _look_for(
        self, work: TakeSnapshot, repository: Repository, place: SnapshotPlace, content: Content
    ) -> None:
        """What an attempt that was interrupted has stored. Only this node takes snapshots of the
        environment."""
        if await run_in_thread(place.was_attempted, work.snapshot):
            content.found = await repository.find(work.snapshot)

    async def _dump(
        self,
        task: Assignment,
        plan: WordPressPlan,
        place: SnapshotPlace,
        content: Content,
        rows: int,
        limit: int,
    ) -> None:
        def make_reader() -> DumpDigest:
            content.dump = DumpDigest()
            return content.dump

        file, socket = place.tree / DATABASE, self._databases.databases.socket
        progress = Progress(task.output, "database, reading", rows)
        await dump(self._run, socket, plan.database, file, progress, limit, make_reader)

    def _describe(
        self, task: Assignment, work: TakeSnapshot, plan: WordPressPlan, content: Content
    ) -> SnapshotManifest:
        with connect(self._databases.databases.socket) as connection:
            ((server,),) = connection.execute("SELECT VERSION()")
        tables = content.dump.tables
        return SnapshotManifest(
            work.snapshot,
            task.site,
            task.environment,
            work.runtime,
            content.began,
            work.document,
            release=plan.desired.spec.release,
            php=plan.desired.spec.settings.php,
            database=SnapshotDatabase(
                content.dump.bytes,
                content.dump.digest,
                str(server),
                tuple(
                    SnapshotTable(name, table.rows, table.checksum) for name, table in sorted(tables.items())
                ),
            ),
            files=content.files,
        )

    async def _require_complete(
        self, repository: Repository, snapshot: str, manifest: SnapshotManifest, place: SnapshotPlace
    ) -> None:
        """Files that a site removes meanwhile cannot be read, and are no reason to fail."""
        if damaged := await find_missing(repository, snapshot, manifest, list_of(place.tree / FILE_LIST)):
            raise SnapshotFailed(INTERRUPTED, f"a file cannot be read: {damaged}")

    def _require_space(self, place: SnapshotPlace) -> None:
        free = os.statvfs(place.home)
        if free.f_bavail * free.f_frsize < _LEAST_FREE_BYTES:
            raise SnapshotFailed(DISK_FULL, "the disk of the node is full")


async def _find_id(repository: Repository, beginning: str, tag: str) -> str:
    """The complete id of a snapshot that was stored just now."""
    if cached := await run_in_thread(repository.find_cached_id, beginning):
        return cached
    for each in await repository.find(tag):
        if each.id.startswith(beginning):
            return each.id
    raise SnapshotFailed(INTERRUPTED, "the snapshot is not in the repository")


async def find_complete(repository: Repository, stored: StoredSnapshot, tag: str) -> SnapshotTaken | None:
    """What an earlier attempt has stored, unless it is incomplete."""
    try:
        data = await repository.read(stored.id, MANIFEST, MAX_MANIFEST_BYTES)
        manifest = read_manifest(data)
        if manifest.snapshot != tag:
            return None
        lines = b""
        if manifest.files is not None:
            lines = await repository.read(stored.id, FILE_LIST, list_bound(manifest.files.count))
            if digest_of(lines) != manifest.files.digest:
                return None
        if await find_missing(repository, stored.id, manifest, map(decode, io.BytesIO(lines))):
            return None
    except (SnapshotFailed, ManifestUnreadable):
        return None
    return _report(stored.id, manifest, data, 0)


async def find_missing(
    repository: Repository, snapshot: str, manifest: SnapshotManifest, listed: Iterable[Entry]
) -> str:
    """The path of something that the snapshot should have and has not, by the names and sizes of its
    files."""
    found: list[Entry] = []
    top: dict[str, int] = {}

    def visit(entry: ListedEntry) -> None:
        parts = tuple(os.fsencode(part) for part in entry.path.strip("/").split("/"))
        if len(parts) == 1:
            top[entry.path.strip("/")] = entry.size
        if parts[0] == FILES.encode() and entry.type in _KINDS:
            mode, modified = entry.mode & 0o777, _nanoseconds(entry.mtime)
            found.append(Entry(parts[1:], _KINDS[entry.type], mode, entry.size, b"", modified))

    await repository.list_entries(snapshot, visit)
    if manifest.database is not None and top.get(DATABASE) != manifest.database.bytes:
        return DATABASE
    if manifest.files is None:
        return ""
    found.sort(key=lambda entry: entry.key)
    damaged = (await run_in_thread(compare, _name_as_restic(listed), found, manifest.began_at, False)).damaged
    return "" if damaged is None else os.fsdecode(damaged)


_KINDS = {"dir": b"d", "file": b"f", "symlink": b"l"}


def _name_as_restic(listed: Iterable[Entry]) -> Iterator[Entry]:
    """With the names that restic shows, which are always UTF-8."""
    for entry in listed:
        key = tuple(part.decode(errors="replace").encode() for part in entry.key)
        yield Entry(key, entry.kind, entry.mode, entry.size, entry.hash)


def _nanoseconds(time_text: str) -> int:
    """Of a time as `2026-11-16T19:48:58.41701162Z`, rounded to microseconds."""
    seconds, _, fraction = time_text.removesuffix("Z").partition(".")
    zone = "+00:00" if time_text.endswith("Z") else ""
    if not zone:
        return int(datetime.fromisoformat(time_text).timestamp() * 1e9)
    return int(datetime.fromisoformat(seconds + zone).timestamp()) * 10**9 + int(fraction.ljust(9, "0") or 0)


def _count_inodes(plan: WordPressPlan) -> int:
    status = os.statvfs(plan.paths.disk)
    return status.f_files - status.f_ffree


def list_bound(files: int) -> int:
    """How long the list of so many files may be. Names of usual length need less."""
    return _LIST_BYTES + files * _LIST_BYTES_PER_FILE


def content_bound(plan: WordPressPlan) -> int:
    """How large the files may be together. More could not be restored."""
    return 2 * plan.desired.spec.settings.disk_mb * MB


async def _list_files(place: SnapshotPlace, content: Content, bounds: Bounds) -> None:
    """Write the list of all files with their hashes. A job that is cancelled stops it."""
    with_hashes = KnownHashes(place.hashes)
    scan = TreeScan(place.tree / FILES, with_hashes.hash_file, max_bytes=bounds.files)

    def write() -> SnapshotFiles:
        made, length = sha256(), 0
        with with_hashes, (place.tree / FILE_LIST).open("wb") as file:
            for entry in scan.entries():
                if entry.key:
                    line = entry.encode()
                    made.update(line)
                    file.write(line)
                    length += len(line)
                    if length > bounds.list:
                        raise ScanFailed("the names of the files are too long for the list of a snapshot")
        return SnapshotFiles(scan.files, scan.bytes, f"sha256:{made.hexdigest()}")

    running = asyncio.ensure_future(run_in_thread(write))
    try:
        content.files = await asyncio.shield(running)
    finally:
        scan.stopped = True
        await asyncio.wait({running})


def _report(restic_id: str, manifest: SnapshotManifest, data: bytes, added: int) -> SnapshotTaken:
    return SnapshotTaken(
        restic_id,
        digest_of(data),
        manifest.size_bytes + len(data),
        added,
        files=manifest.files.count if manifest.files else 0,
        rows=manifest.database.rows if manifest.database else 0,
    )


def _describe_content(manifest: SnapshotManifest) -> str:
    database, files = manifest.database, manifest.files
    rows = f"{database.rows} rows in {len(database.tables)} tables" if database else "no database"
    return f"{rows}, {files.count if files else 0} files, {manifest.size_bytes / (1 << 20):.1f} MB"


def list_of(file: Path) -> Iterator[Entry]:
    """The entries of a list. Raises ValueError."""
    with file.open("rb") as lines:
        yield from map(decode, lines)
