"""The chunks that a node has made and not yet delivered, and how far it has read each file.

A chunk and the position behind its last line are recorded in one transaction, so a line is in exactly one
chunk whatever happens. A chunk never changes.
"""

import hashlib
import os
import secrets
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import zstandard

from stead.node.sqlite import open_database, transaction
from stead.protocol.telemetry import (
    COLUMNS,
    MAX_COUNT,
    MAX_MOMENT,
    MAX_PARTS,
    Chunk,
    ChunkHead,
    Gap,
    Part,
    StreamName,
    encode_head,
    is_valid,
)

MAX_BYTES = 256 << 20
"""How much may wait. Then no more chunks are made, and what is recorded waits in its own files."""
MAX_CHUNK_ROWS = 50_000
MAX_CHUNK_PLAIN_BYTES = 6 << 20
"""So a chunk is small enough also if its rows cannot be compressed."""
_PART_BYTES = 64
"""What the head of a chunk says about one environment."""
_LEVEL = 3
_TABLES = (
    "create table if not exists spool (id text not null) strict",
    "create table if not exists positions (file blob primary key, offset integer not null,"
    " before blob not null, seen integer not null) strict, without rowid",
    "create table if not exists chunks (sequence integer primary key autoincrement, stream text not null,"
    " size integer not null, sha256 blob not null, rows integer not null, first real not null,"
    " last real not null, until real not null) strict",
    "create table if not exists gaps (id integer primary key autoincrement, stream text not null,"
    " first real not null, last real not null, rows integer not null) strict",
)


class Position(NamedTuple):
    offset: int = 0
    before: bytes = b""
    """The bytes in front of it, for files that lose their beginning."""


class PendingChunk(NamedTuple):
    sequence: int
    chunk: Chunk
    path: Path

    @property
    def is_deliverable(self) -> bool:
        """Whether the control plane can ever accept it."""
        try:
            return is_valid(self.chunk) and self.path.stat().st_size == self.chunk.size
        except FileNotFoundError:
            return False


class NewRows:
    """Rows of a stream that are not yet stored."""

    def __init__(self, stream: StreamName) -> None:
        self.stream: StreamName = stream
        self._rows: dict[str, list[bytes]] = {}
        self._moments: dict[str, list[float]] = {}
        self.count = 0
        self.first, self.last = float("inf"), 0.0
        self._size = 0

    @property
    def is_full(self) -> bool:
        """Whether there are enough for a chunk."""
        return (
            self.count >= MAX_CHUNK_ROWS
            or self._size >= MAX_CHUNK_PLAIN_BYTES
            or len(self._rows) >= MAX_PARTS
        )

    def add(self, environment: str, moment: float, row: bytes) -> None:
        rows = self._rows.get(environment)
        if rows is None:
            rows = self._rows[environment] = []
            self._moments[environment] = []
            self._size += _PART_BYTES + len(environment)
        rows.append(row)
        self._moments[environment].append(moment)
        self.count += 1
        self._size += len(environment) + 1 + len(row)
        self.first, self.last = min(self.first, moment), max(self.last, moment)

    def split(self) -> "Iterator[NewRows]":
        """The rows of each chunk."""
        if not self.is_full:
            if self.count:
                yield self
            return
        part = NewRows(self.stream)
        for environment, rows in self._rows.items():
            for moment, row in zip(self._moments[environment], rows, strict=True):
                if part.is_full:
                    yield part
                    part = NewRows(self.stream)
                part.add(environment, moment, row)
        yield part

    def compress(self) -> bytes:
        parts = tuple(Part(environment, len(rows)) for environment, rows in self._rows.items())
        head = encode_head(ChunkHead(self.stream, parts, len(COLUMNS[self.stream])))
        plain = b"".join(_name_environment(environment, rows) for environment, rows in self._rows.items())
        return b"\n".join([head, zstandard.ZstdCompressor(level=_LEVEL).compress(plain)])


def _until(rows: NewRows, until: float) -> Iterator[tuple[NewRows, float]]:
    """The rows of each chunk, and up to when everything is in it and those before it: only the last one
    makes them complete."""
    parts = list(rows.split())
    for part in parts[:-1]:
        yield part, min(until, rows.first)
    for part in parts[-1:]:
        yield part, until


class Spool:
    """Its methods block. They are called from several threads, one at a time."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(mode=0o700, exist_ok=True)
        self._directory, self._lock = directory, threading.RLock()
        self._database = open_database(directory / "spool.sqlite", check_same_thread=False)
        with transaction(self._database):
            for statement in _TABLES:
                self._database.execute(statement)
            if self._database.execute("select 1 from spool").fetchone() is None:
                self._database.execute("insert into spool values (?)", (secrets.token_hex(8),))
        (self._id,) = self._database.execute("select id from spool").fetchone()
        self._remove_unknown_files()

    def close(self) -> None:
        with self._lock:
            self._database.close()

    @property
    def lock(self) -> threading.RLock:
        """Whoever holds it has the positions for itself."""
        return self._lock

    @property
    def is_full(self) -> bool:
        return self.waiting_bytes >= MAX_BYTES

    @property
    def waiting_bytes(self) -> int:
        with self._lock:
            (size,) = self._database.execute("select coalesce(sum(size), 0) from chunks").fetchone()
        return int(size)

    def position(self, file: bytes) -> Position | None:
        """How far a file has been read. `file` is a name that its source has chosen."""
        with self._lock:
            found = self._database.execute("select offset, before from positions where file = ?", (file,))
            row = found.fetchone()
        return Position(*row) if row else None

    def save(self, positions: Mapping[bytes, Position], rows: NewRows, until: float, *more: NewRows) -> None:
        """Store chunks of these rows, together with the new positions."""
        with self._lock:
            (last,) = self._database.execute(
                "select coalesce(max(seq), 0) from sqlite_sequence where name = 'chunks'"
            ).fetchone() or (0,)
            chunks = []
            split = [part for each in (rows, *more) for part in _until(each, until)]
            for sequence, (each, complete_until) in enumerate(split, last + 1):
                content = each.compress()
                _write(self._path(sequence), content)
                described = (sequence, each.stream, len(content), hashlib.sha256(content).digest())
                chunks.append((*described, each.count, each.first, each.last, complete_until))
            with transaction(self._database):
                self._database.executemany(
                    "insert into chunks (sequence, stream, size, sha256, rows, first, last, until)"
                    " values (?, ?, ?, ?, ?, ?, ?, ?)",
                    chunks,
                )
                self._database.executemany(
                    "insert into positions values (?, ?, ?, unixepoch()) on conflict (file) do update"
                    " set offset = excluded.offset, before = excluded.before, seen = excluded.seen",
                    [(file, *position) for file, position in positions.items()],
                )

    def forget_files(self, kind: bytes, present: set[bytes]) -> None:
        """Forget the positions of files of a kind, which their names begin with, that are gone for a day."""
        with self._lock:
            found = self._database.execute("select file from positions where seen < unixepoch() - 86400")
            for (file,) in found.fetchall():
                if file.startswith(kind) and file not in present:
                    self._database.execute("delete from positions where file = ?", (file,))

    def add_gap(self, gap: Gap) -> None:
        first, last = (min(max(moment, 0.0), MAX_MOMENT) for moment in (gap.first, gap.last))
        with self._lock:
            self._database.execute(
                "insert into gaps (stream, first, last, rows) values (?, ?, ?, ?)",
                (gap.stream, first, last, min(gap.rows, MAX_COUNT)),
            )

    def list_gaps(self, limit: int) -> list[tuple[int, Gap]]:
        with self._lock:
            rows = self._database.execute(
                "select id, stream, first, last, rows from gaps order by id limit ?", (limit,)
            ).fetchall()
        return [(id_, Gap(*gap)) for id_, *gap in rows]

    def remove_gaps(self, ids: list[int]) -> None:
        with self._lock, transaction(self._database):
            self._database.executemany("delete from gaps where id = ?", [(id_,) for id_ in ids])

    def next_chunk(self) -> PendingChunk | None:
        """The oldest one."""
        with self._lock:
            row = self._database.execute(
                "select sequence, stream, size, sha256, rows, first, last, until from chunks"
                " order by sequence limit 1"
            ).fetchone()
        if row is None:
            return None
        sequence, *fields = row
        chunk = Chunk(f"{self._id}-{sequence:012d}", *fields)
        return PendingChunk(sequence, chunk, self._path(sequence))

    def remove(self, chunk: PendingChunk) -> None:
        """It has been delivered, or is not wanted."""
        with self._lock:
            self._database.execute("delete from chunks where sequence = ?", (chunk.sequence,))
            chunk.path.unlink(missing_ok=True)

    def give_up(self, chunk: PendingChunk) -> None:
        """It can never be delivered: its rows are lost."""
        it = chunk.chunk
        with self._lock, transaction(self._database):
            self.add_gap(Gap(it.stream, it.first, it.last, it.rows))
            self._database.execute("delete from chunks where sequence = ?", (chunk.sequence,))
        chunk.path.unlink(missing_ok=True)

    def _path(self, sequence: int) -> Path:
        return self._directory / f"{sequence:012d}.zst"

    def _remove_unknown_files(self) -> None:
        """Files whose chunk was not recorded before a crash, or that were delivered."""
        known = {self._path(row[0]) for row in self._database.execute("select sequence from chunks")}
        for path in self._directory.glob("*.zst"):
            if path not in known:
                path.unlink()


def _name_environment(environment: str, rows: list[bytes]) -> bytes:
    before = environment.encode() + b"\t"
    return before + before.join(rows)


def _write(path: Path, content: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(descriptor)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)
