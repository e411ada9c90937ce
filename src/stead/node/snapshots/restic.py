"""Runs restic for one repository: with low priority, limits of time and output, and directories of its own.

The repository and its password are in the environment of the process, never in its arguments, which other
users of the machine can read. The output of restic names files of customers, so only its meaning is passed
on.
"""

import asyncio
import os
import re
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from stead.node.databases.dumps import LOW_PRIORITY
from stead.node.processes import Run, StreamName
from stead.node.snapshots.failures import (
    DAMAGED,
    DISK_FULL,
    INTERRUPTED,
    PASSWORD_WRONG,
    STORE_UNAVAILABLE,
    SnapshotFailed,
)
from stead.protocol.work.snapshots import RepositoryAccess

PROGRAM = "restic"
MAX_SECONDS = 6 * 3600.0
"""Of one run. The job has a limit of its own, which is usually shorter."""
STORE_PATIENCE_SECONDS = 60.0
"""How long restic may try to reach a store that does not answer. By itself it tries for a quarter of an hour,
again for each file."""
RETRY_GAP_SECONDS = 45.0
"""Without another attempt for so long, the store has answered."""
MAX_OUTPUT_BYTES = 64 << 20
MAX_ERROR_BYTES = 16 << 10
MAX_LISTED = 10_000
INCOMPLETE = 3
"""The exit code of a snapshot without some files, which could not be read."""
_POLL_SECONDS = 0.5
_AS_USER = ("setpriv", "--clear-groups", "--no-new-privs", "--inh-caps=-all", "--bounding-set=-all")

RepositoryName = Callable[[RepositoryAccess], str]
"""What restic calls the repository."""

_MEANINGS: tuple[tuple[tuple[bytes, ...], str, str], ...] = (
    ((b"wrong password", b"no key found"), PASSWORD_WRONG, "the password of the repository is wrong"),
    ((b"no space left on device", b"disk quota exceeded"), DISK_FULL, "the disk is full"),
    (
        (
            *(
                b"ciphertext verification failed",
                b"hash mismatch",
                b"does not match",
                b"invalid data returned",
            ),
            *(b"not found in repository", b"no such blob", b"not found in index", b"wrong data returned"),
            *(b"id not found", b"blob has wrong length", b"no matching id", b"could not load"),
            *(b"failed to decrypt", b"unexpected hash", b"invalid compressed", b"invalid length"),
        ),
        DAMAGED,
        "data of the repository is damaged or missing",
    ),
    (
        (
            *(b"connection refused", b"connection reset", b"no such host", b"i/o timeout", b"eof"),
            *(
                b"unable to open config file",
                b"unexpected http response",
                b"broken pipe",
                b"context deadline",
            ),
            *(b"server misbehaving", b"network is unreachable", b"no route to host", b"timeout awaiting"),
            *(b"unable to open repository", b"no such file or directory", b"service unavailable"),
        ),
        STORE_UNAVAILABLE,
        "the store of the snapshots does not answer or refuses the work",
    ),
)
_RETRYING = b"retrying after"
_ID = re.compile("[0-9a-f]{64}")


class BackupSummary(Struct, frozen=True):
    snapshot_id: str
    """Its beginning."""
    data_added: int


class StoredSnapshot(Struct, frozen=True):
    id: str
    time: str
    tags: tuple[str, ...] = ()


class ListedEntry(Struct, frozen=True):
    """A file, directory or link of a snapshot."""

    path: str
    type: str
    mtime: str
    mode: int = 0
    size: int = 0


class _Message(Struct, frozen=True):
    message_type: str = ""


_summary = msgspec.json.Decoder(BackupSummary)
_message = msgspec.json.Decoder(_Message)
_snapshots = msgspec.json.Decoder(list[StoredSnapshot] | None)


def rest_repository(access: RepositoryAccess) -> str:
    """The gateway, over HTTP. Nothing else is a repository."""
    parts = urlsplit(access.url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SnapshotFailed(STORE_UNAVAILABLE, "the address of the repository is not one of a gateway")
    return f"rest:{access.url}"


class Restic:
    def __init__(self, run: Run, name_repository: RepositoryName = rest_repository) -> None:
        self._run, self._name = run, name_repository

    def open(self, access: RepositoryAccess, cache: Path | None = None) -> "Repository":
        """Without the directory of a cache, everything is read from the repository itself."""
        return Repository(self._run, self._name(access), access.password, cache)


class Repository:
    """All functions raise SnapshotFailed."""

    def __init__(self, run: Run, name: str, password: str, cache: Path | None) -> None:
        self._run, self._name, self._password, self._cache = run, name, password, cache

    async def backup(self, directory: Path, names: Sequence[str], *, tag: str, host: str) -> BackupSummary:
        """Store these files and directories of the directory. Raises SnapshotIncomplete if some could not be
        read."""
        found: list[BackupSummary] = []

        def look_at(line: bytes) -> None:
            with suppress(msgspec.MsgspecError):
                if _message.decode(line).message_type == "summary":
                    found.append(_summary.decode(line))

        argv = ["backup", "--json", f"--tag={tag}", f"--host={host}", "--", *names]
        code = await self._call(argv, lines=look_at, directory=directory, may_end=(INCOMPLETE,))
        if not found:
            raise SnapshotFailed(INTERRUPTED, "restic has not said what it stored")
        if code == INCOMPLETE:
            raise SnapshotIncomplete(found[0])
        return found[0]

    async def find(self, tag: str) -> list[StoredSnapshot]:
        """The snapshots with this tag, oldest first."""
        output = await self._collect(["snapshots", "--json", "--no-lock", f"--tag={tag}"])
        found = _read_snapshots(output)
        return sorted((each for each in found if tag in each.tags), key=lambda each: each.time)

    def find_cached_id(self, beginning: str) -> str | None:
        """The complete id of a snapshot that was stored with this cache. restic tells only its beginning, and
        to start it again takes about as long as storing little. Blocks."""
        if self._cache is None:
            return None
        found = {file.name for file in self._cache.glob(f"*/snapshots/*/{beginning}*")}
        return found.pop() if len(found) == 1 and _ID.fullmatch(min(found)) else None

    async def read(self, snapshot: str, path: str, max_bytes: int) -> bytes:
        """The content of one file."""
        return await self._collect(["dump", "--no-lock", "--", snapshot, f"/{path}"], max_bytes)

    async def write_to(self, descriptor: int, snapshot: str, path: str) -> None:
        """Write the content of one file to a pipe."""
        await self._call(["dump", "--no-lock", "--", snapshot, f"/{path}"], stdout=descriptor)

    async def list_entries(self, snapshot: str, visit: Callable[[ListedEntry], None]) -> None:
        """All files of a snapshot."""
        decoder = msgspec.json.Decoder(ListedEntry)

        def look_at(line: bytes) -> None:
            # The first line describes the snapshot itself.
            with suppress(msgspec.MsgspecError):
                visit(decoder.decode(line))

        await self._call(["ls", "--json", "--no-lock", "--", snapshot], lines=look_at)

    async def restore(self, snapshot: str, target: Path, owner: int, *, without: Sequence[str] = ()) -> None:
        """Write the files of the snapshot below the target, as this user, who must own it. What is in a
        repository is not trusted: nothing else can be changed by it."""
        excluded = [f"--exclude=/{name}" for name in without]
        argv = ["restore", "--quiet", "--no-lock", f"--target={target}", *excluded, "--", snapshot]
        await self._call(argv, owner=owner)

    async def _collect(self, argv: Sequence[str], max_bytes: int = MAX_OUTPUT_BYTES) -> bytes:
        output = bytearray()

        def add(data: bytes) -> None:
            output.extend(data)
            if len(output) > max_bytes:
                raise SnapshotFailed(DAMAGED, "what the snapshot contains is larger than it can be")

        await self._call(argv, chunks=add)
        return bytes(output)

    async def _call(
        self,
        argv: Sequence[str],
        *,
        lines: Callable[[bytes], None] | None = None,
        chunks: Callable[[bytes], None] | None = None,
        directory: Path | None = None,
        stdout: int | None = None,
        owner: int | None = None,
        may_end: Sequence[int] = (),
    ) -> int:
        watch = _Watch(lines, chunks)
        own = () if owner is None else (*_AS_USER, f"--reuid={owner}", f"--regid={owner}", "--")
        cache = "--no-cache" if self._cache is None else f"--cache-dir={self._cache}"
        command = [*LOW_PRIORITY, *own, PROGRAM, cache, *argv]
        running = asyncio.create_task(
            self._run(
                command,
                watch.receive,
                environment=self._environment(),
                directory=directory,
                stdout=stdout,
            )
        )
        until = time.monotonic() + MAX_SECONDS
        try:
            while not running.done():
                await asyncio.wait({running}, timeout=_POLL_SECONDS)
                if watch.store_is_silent():
                    raise SnapshotFailed(STORE_UNAVAILABLE, "the store of the snapshots does not answer")
                if time.monotonic() > until:
                    raise SnapshotFailed(INTERRUPTED, f"restic has not ended after {MAX_SECONDS:g} s")
            code = running.result()
        finally:
            running.cancel()
            await asyncio.wait({running})
        watch.end()
        if code and code not in may_end:
            raise _explain(bytes(watch.errors))
        return code

    def _environment(self) -> Mapping[str, str]:
        return {
            "RESTIC_REPOSITORY": self._name,
            "RESTIC_PASSWORD": self._password,
            # Packs are made there before they are sent.
            "TMPDIR": os.fspath(self._cache or "/nonexistent"),
            "HOME": "/nonexistent",
            "RESTIC_PROGRESS_FPS": "0.2",
            # Two threads: visitors of the node's sites need the others.
            "GOMAXPROCS": "2",
        }


class SnapshotIncomplete(Exception):
    """Some files could not be read. The snapshot was stored without them."""

    def __init__(self, summary: BackupSummary) -> None:
        super().__init__()
        self.summary = summary


class _Watch:
    """Reads the output of restic as it comes."""

    def __init__(self, lines: Callable[[bytes], None] | None, chunks: Callable[[bytes], None] | None) -> None:
        self._lines, self._chunks = lines, chunks
        self._rest, self.errors = b"", bytearray()
        self._first_retry = self._last_retry = 0.0

    async def receive(self, stream: StreamName, data: bytes) -> None:
        if stream == "stderr":
            self._receive_error(data)
        elif self._chunks is not None:
            self._chunks(data)
        elif self._lines is not None:
            *complete, self._rest = (self._rest + data).split(b"\n")
            for line in complete:
                self._lines(line)
            if len(self._rest) > MAX_OUTPUT_BYTES:
                raise SnapshotFailed(DAMAGED, "restic has written a line that is too long")

    def end(self) -> None:
        if self._rest and self._lines is not None:
            self._lines(self._rest)

    def _receive_error(self, data: bytes) -> None:
        # The end says why it has failed.
        self.errors = (self.errors + data)[-MAX_ERROR_BYTES:]
        if _RETRYING in data:
            now = time.monotonic()
            if now - self._last_retry > RETRY_GAP_SECONDS:
                self._first_retry = now
            self._last_retry = now

    def store_is_silent(self) -> bool:
        now = time.monotonic()
        trying = self._last_retry and now - self._last_retry < RETRY_GAP_SECONDS
        return bool(trying) and now - self._first_retry > STORE_PATIENCE_SECONDS


def _explain(errors: bytes) -> SnapshotFailed:
    text = errors.lower()
    for words, code, meaning in _MEANINGS:
        if any(word in text for word in words):
            return SnapshotFailed(code, meaning)
    return SnapshotFailed(INTERRUPTED, "restic has failed")


def _read_snapshots(data: bytes) -> list[StoredSnapshot]:
    try:
        return _snapshots.decode(data) or []
    except msgspec.MsgspecError:
        raise SnapshotFailed(INTERRUPTED, "the answer of restic cannot be read") from None
