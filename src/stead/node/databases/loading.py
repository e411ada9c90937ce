"""Loads a dump into a schema. The dump contains what a customer has written, so nothing in it is trusted:

- The program runs as nobody, in its sandbox mode, in which a dump cannot start programs or read files.
- It signs in as the user of the schema, who has rights in this schema only.
- Statements that name another schema or user are refused here already. The bodies of triggers are not looked
  at: their lines are not statements, and may begin with any word. There the rights of the user decide alone.
- The users of views and triggers are left out: they become those of the new schema. So is the schema of
  sequences, which MariaDB writes into default values.
"""

import asyncio
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import IO

from stead.node.databases.dumps import END, LOW_PRIORITY, DumpReader, is_complete
from stead.node.databases.pipe_writer import PipeWriter
from stead.node.processes import Run, StreamName
from stead.node.progress import Progress
from stead.node.uninterrupted import run_in_thread

_AS_NOBODY = ("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", "--no-new-privs", "--")
MAX_ROW_BYTES = 40 << 20
"""Longer ones are passed on in pieces, as are other lines of more than a piece."""
_PIECE_BYTES = 1 << 20
_POLL_SECONDS = 0.2
_MAX_ERROR_BYTES = 4096
_ROW = b"("
_ROWS = (_ROW, b"INSERT INTO ", b"--")
_COMMENT = re.compile(rb"/\*M?!\d*\s*")
_REFUSED = re.compile(
    rb"(USE|(CREATE|DROP|ALTER)\s+(DATABASE|SCHEMA|USER|ROLE|FUNCTION|PROCEDURE|EVENT|SERVER)|GRANT|REVOKE"
    rb"|LOAD|SET\s+(GLOBAL|PASSWORD|ROLE)|INSTALL|HANDLER)\b",
    re.IGNORECASE,
)
_USER = rb"`(?:[^`]|``)*`@`(?:[^`]|``)*`"
_VIEW_USER = re.compile(rb"^/\*!50013 DEFINER=" + _USER + rb" SQL SECURITY (?:DEFINER|INVOKER) \*/")
_TRIGGER_USER = re.compile(rb"^(/\*!50003 CREATE\*/ )/\*!50017 DEFINER=" + _USER + rb"\s*\*/ ")
_TRIGGER_BEGINS, _TRIGGER_ENDS = b"DELIMITER ;;\n", b"DELIMITER ;\n"
_SEQUENCE_SCHEMA = re.compile(rb"\b((?:next|last|set)val\()`(?:[^`]|``)*`\.(?=`)")


ChangeLine = Callable[[bytes], bytes]
"""Called with each line that is not part of a trigger. The end of a line that is too long is missing."""


class LoadFailed(Exception):
    """The message says why, without the text of the program, which may quote rows."""


async def load(
    run: Run,
    socket: Path,
    schema: str,
    password: str,
    file: Path,
    progress: Progress,
    change_line: ChangeLine | None = None,
) -> None:
    """Run a complete dump in the schema, which must be empty. Raises LoadFailed."""
    if not await run_in_thread(is_complete, file):
        raise LoadFailed("the dump of the database has no end")
    feeder = _Feeder(lambda: file.open("rb", buffering=_PIECE_BYTES), change_line)
    await _load(run, socket, schema, password, feeder, progress)


async def load_stream(
    run: Run,
    socket: Path,
    schema: str,
    password: str,
    descriptor: int,
    reader: DumpReader,
    progress: Progress,
    change_line: ChangeLine | None = None,
) -> None:
    """Run a dump that another program writes to the pipe, while `reader` gets it unchanged. Raises
    LoadFailed, also if it has no end: some of it is then in the schema. Closes the descriptor."""
    feeder = _Feeder(lambda: os.fdopen(descriptor, "rb", buffering=_PIECE_BYTES), change_line, reader)
    await _load(run, socket, schema, password, feeder, progress)
    if not feeder.last_line.startswith(END):
        raise LoadFailed("the dump of the database has no end")


async def _load(
    run: Run, socket: Path, schema: str, password: str, feeder: "_Feeder", progress: Progress
) -> None:
    errors = bytearray()

    async def collect(_: StreamName, data: bytes) -> None:
        errors.extend(data[: _MAX_ERROR_BYTES - len(errors)])

    argv = [
        *LOW_PRIORITY,
        *(*_AS_NOBODY, "mariadb", "--no-defaults", f"--socket={socket}", f"--user={schema}"),
        *("--batch", "--binary-mode", "--sandbox", "--default-character-set=utf8mb4", "--local-infile=0"),
        *("--max-allowed-packet=512M", f"--database={schema}"),
    ]
    reading, writing = os.pipe()
    feeding = asyncio.ensure_future(run_in_thread(feeder.run, writing))
    try:
        running = asyncio.create_task(run(argv, collect, environment={"MYSQL_PWD": password}, stdin=reading))
        try:
            while not running.done():
                await asyncio.wait({running}, timeout=_POLL_SECONDS)
                await progress.report(feeder.bytes)
            code = running.result()
        finally:
            running.cancel()
            await asyncio.wait({running})
    finally:
        # The feeder ends when nobody reads any more.
        os.close(reading)
        await asyncio.wait({feeding})
    feeding.result()
    if code or not feeder.finished:
        found = re.search(rb"ERROR (\d{4})", errors)
        raise LoadFailed(f"the database could not be filled{f': error {found[1].decode()}' if found else ''}")


class _Feeder:
    """Writes the dump to the program, in a thread."""

    def __init__(
        self,
        open_dump: Callable[[], IO[bytes]],
        change_line: ChangeLine | None,
        reader: DumpReader | None = None,
    ) -> None:
        self._open_dump, self._change_line, self._reader = open_dump, change_line, reader
        self.bytes, self.finished, self.last_line = 0, False, b""

    def run(self, descriptor: int) -> None:
        try:
            with PipeWriter(descriptor) as program, self._open_dump() as dump:
                begins, checker = True, LineChecker(self._change_line)
                while piece := dump.readline(_PIECE_BYTES):
                    if begins and piece.startswith(_ROW) and not piece.endswith(b"\n"):
                        piece += dump.readline(MAX_ROW_BYTES - _PIECE_BYTES)
                    if self._reader is not None:
                        self._reader.feed(piece)
                    program.write(checker.check(piece) if begins else piece)
                    if begins:
                        self.last_line = piece
                    begins = piece.endswith(b"\n")
                    self.bytes += len(piece)
            self.finished = True
        except BrokenPipeError:
            # The program has ended; its exit code says why.
            return


class LineChecker:
    """Looks at the lines of a dump, one after the other."""

    def __init__(self, change_line: ChangeLine | None = None) -> None:
        self._in_trigger, self._change_line = False, change_line

    def check(self, line: bytes) -> bytes:
        """The line as it may be run. Raises LoadFailed."""
        if self._in_trigger:
            self._in_trigger = line != _TRIGGER_ENDS
            return _TRIGGER_USER.sub(rb"\1", line)
        self._in_trigger = line == _TRIGGER_BEGINS
        checked = _check_statement(line)
        return self._change_line(checked) if self._change_line else checked


def _check_statement(line: bytes) -> bytes:
    """Rows have escaped line breaks, so a line that begins a statement is never part of one."""
    if line.startswith(_ROWS):
        return line
    line = _VIEW_USER.sub(b"/*!50013 SQL SECURITY INVOKER */", line)
    line = _SEQUENCE_SCHEMA.sub(rb"\1", line)
    statement = line.lstrip()
    while found := _COMMENT.match(statement):
        statement = statement[found.end() :]
    if _REFUSED.match(statement):
        raise LoadFailed("the dump of the database contains a statement that is not allowed")
    return line
