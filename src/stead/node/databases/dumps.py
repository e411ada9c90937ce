"""Dumps one schema into a file: a consistent copy, whose end is verified.

All tables are InnoDB, so one transaction sees all of them as they were when it began, and nobody waits for
it. If a table is changed (not its rows) meanwhile, MariaDB ends the dump, and it begins again.

Views that cannot be used, because a table of theirs is gone, are left out: they have no rows.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from stead.mariadb.connection import Connection, StatementFailed, connect
from stead.node.databases.names import quote_name
from stead.node.processes import Run, StreamName
from stead.node.progress import Progress
from stead.node.uninterrupted import run_in_thread

ATTEMPTS = 4
LOW_PRIORITY = ("nice", "-n", "10", "ionice", "-c", "3")
"""Before the argv of a program: sites that serve visitors go first."""
END = b"-- Dump completed"
_BOUND_FACTOR, _BOUND_SPARE = 4, 256 << 20
"""A dump may be so much larger than the tables: binary values are written as hexadecimal digits."""
MAX_INVALID_VIEWS = 1000
_INVALID_VIEW = {1356, 1449}
"""It refers to a table, column or user that does not exist."""
_TABLE_CHANGED = b"1412"
_TAIL_BYTES = 256
_PIECE_BYTES = 1 << 20
_POLL_SECONDS = 0.2
_MAX_ERROR_BYTES = 4096


class DumpFailed(Exception):
    """The message says why, without the text of the program, which may quote rows."""


class DumpUnsupported(DumpFailed):
    """It will not succeed before the customer changes the content."""


class DumpReader(Protocol):
    """Reads a dump, piece by piece."""

    def feed(self, piece: bytes) -> None: ...


def dump_bound(rows: int) -> int:
    """How large the dump of so many bytes of rows may become."""
    return rows * _BOUND_FACTOR + _BOUND_SPARE


async def dump(
    run: Run,
    socket: Path,
    schema: str,
    file: Path,
    progress: Progress,
    max_bytes: int,
    make_reader: Callable[[], DumpReader] | None = None,
    tables: Sequence[str] = (),
) -> None:
    """Write the schema, or only some tables, to the file, which is complete when this returns. Raises
    DumpFailed. Each time that the dump begins, a new reader is made, which gets what is written while it is
    written.

    The administrator of the server dumps, so that no limit of an account ends a large dump.
    """
    for remaining in reversed(range(ATTEMPTS)):
        ignored = await run_in_thread(list_invalid_views, socket, schema)
        argv = [*_argv(socket, schema, ignored, f"--result-file={file}"), *tables]
        reader = make_reader() if make_reader else None
        errors = await _dump_once(run, argv, file, progress, max_bytes, reader)
        if not errors:
            for view in ignored:
                await progress.say(f"the view {view!r} is left out: what it refers to does not exist")
            return
        if _TABLE_CHANGED not in errors or not remaining:
            number = _error_number(errors)
            raise DumpFailed(f"the database could not be read{f': error {number}' if number else ''}")
        await progress.say("a table was changed during the dump; it begins again")


def list_invalid_views(socket: Path, schema: str) -> list[str]:
    with connect(socket) as connection:
        views = connection.execute(
            "SELECT table_name FROM information_schema.tables"
            " WHERE table_schema = %s AND table_type = 'VIEW'",
            [schema],
        )
        invalid = [str(name) for (name,) in views if not _is_valid(connection, schema, str(name))]
    if len(invalid) > MAX_INVALID_VIEWS:
        raise DumpUnsupported(f"the database has more than {MAX_INVALID_VIEWS} views that cannot be used")
    return invalid


def _is_valid(connection: Connection, schema: str, view: str) -> bool:
    """Whether the dump can read its columns."""
    try:
        connection.execute(f"SHOW FIELDS FROM {quote_name(schema)}.{quote_name(view)}")
    except StatementFailed as error:
        return error.number not in _INVALID_VIEW
    return True


async def _dump_once(
    run: Run,
    argv: Sequence[str],
    file: Path,
    progress: Progress,
    max_bytes: int,
    reader: DumpReader | None,
) -> bytes:
    """Returns what the program said about its errors; empty if it has succeeded."""
    errors = bytearray()

    async def collect(stream: StreamName, data: bytes) -> None:
        if stream == "stderr":
            errors.extend(data[: _MAX_ERROR_BYTES - len(errors)])

    await run_in_thread(_make_empty, file)
    follower = _Follower(file, reader) if reader else None
    running = asyncio.create_task(run(argv, collect))
    try:
        while not running.done():
            await asyncio.wait({running}, timeout=_POLL_SECONDS)
            if follower is not None:
                await run_in_thread(follower.read)
            size = _size(file)
            if size > max_bytes:
                raise DumpUnsupported("the dump of the database is larger than expected")
            await progress.report(size)
        code = running.result()
    finally:
        running.cancel()
        await asyncio.wait({running})
    if follower is not None:
        await run_in_thread(follower.read)
    if code == 0 and not await run_in_thread(is_complete, file):
        raise DumpFailed("the dump of the database has no end")
    return bytes(errors) or b"unknown" if code else b""


async def dump_again(run: Run, socket: Path, schema: str, reader: DumpReader) -> None:
    """Read the rows of the schema as a dump has them, without a file. Nobody else may use the schema. Raises
    DumpFailed."""
    errors = bytearray()

    async def collect(_: StreamName, data: bytes) -> None:
        errors.extend(data[: _MAX_ERROR_BYTES - len(errors)])

    ignored = await run_in_thread(list_invalid_views, socket, schema)
    argv = _argv(socket, schema, ignored, "--no-create-info", "--skip-triggers")
    reading, writing = os.pipe()
    copying = asyncio.ensure_future(run_in_thread(_read_pipe, reading, reader))
    try:
        code = await run(argv, collect, stdout=writing)
    finally:
        os.close(writing)
        await asyncio.wait({copying})
    if code or not copying.result().startswith(END):
        number = _error_number(bytes(errors))
        raise DumpFailed(f"the rows could not be read again{f': error {number}' if number else ''}")


def _read_pipe(descriptor: int, reader: DumpReader) -> bytes:
    """Returns the last line."""
    tail = b""
    with os.fdopen(descriptor, "rb", buffering=0) as pipe:
        while piece := pipe.read(_PIECE_BYTES):
            reader.feed(piece)
            tail = (tail + piece)[-_TAIL_BYTES:]
    return tail.rstrip().rpartition(b"\n")[2]


class _Follower:
    """Reads a file that is being written. Blocks."""

    def __init__(self, file: Path, reader: DumpReader) -> None:
        self._file, self._reader, self._position = file, reader, 0

    def read(self) -> None:
        """What is new."""
        with self._file.open("rb", buffering=0) as opened:
            opened.seek(self._position)
            while piece := opened.read(_PIECE_BYTES):
                self._reader.feed(piece)
                self._position += len(piece)


def _make_empty(file: Path) -> None:
    file.unlink(missing_ok=True)
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))


def _size(file: Path) -> int:
    return file.stat().st_size


def _argv(socket: Path, schema: str, ignored: Sequence[str], *options: str) -> list[str]:
    return [
        *LOW_PRIORITY,
        *("mariadb-dump", "--no-defaults", f"--socket={socket}", "--default-character-set=utf8mb4"),
        *("--single-transaction", "--quick", "--skip-lock-tables", "--hex-blob", "--no-tablespaces"),
        *("--triggers", "--skip-dump-date", "--max-allowed-packet=512M", *options),
        # A table that is locked alone could not use a sequence for its default values.
        "--skip-add-locks",
        *(f"--ignore-table={schema}.{view}" for view in ignored),
        *("--", schema),
    ]


def is_complete(file: Path) -> bool:
    """Whether the file has the end that only a complete dump has. Blocks."""
    with file.open("rb") as opened:
        opened.seek(max(0, opened.seek(0, os.SEEK_END) - _TAIL_BYTES))
        return opened.read().rstrip().rpartition(b"\n")[2].startswith(END)


def read_back(file: Path) -> int:
    """Read the whole file from the disk; return its size. Raises DumpFailed if it has no end. Blocks."""
    size = 0
    with file.open("rb") as opened:
        os.fsync(opened.fileno())
        while piece := opened.read(1 << 20):
            size += len(piece)
    if not is_complete(file):
        raise DumpFailed("the dump of the database has no end")
    return size


def _error_number(errors: bytes) -> str:
    """The number that MariaDB gave, as in `Got error: 1045: …` or `Error 2013: …`."""
    words = errors.decode(errors="replace").replace(":", " ").replace("(", " ").split()
    return next((word for word in words if word.isdigit() and len(word) == 4), "")
