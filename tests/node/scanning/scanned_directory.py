"""A directory of files that is scanned with the real engines, without a site."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from stead.node.processes import Processes
from stead.node.scanning.clamd_client import REPLY_SECONDS
from stead.node.scanning.findings import FileReport, Root
from stead.node.scanning.scanner import Scanner
from stead.node.scanning.scanner_channel import ScannerChannel
from stead.node.scanning.site_scan import INDEX_BYTES, SiteScan
from stead.node.scanning.verdicts import Verdict
from stead.node.uninterrupted import run_in_thread


class _WatchedChannel(ScannerChannel):
    """Calls a function after the first answer of the scanner."""

    during: Callable[[], object] | None = None

    def receive(self) -> list[Verdict]:
        answers = super().receive()
        during, self.during = self.during, None
        if during is not None:
            during()
        return answers


@dataclass
class ScannedDirectory:
    home: Path
    scanner: Scanner

    @property
    def content(self) -> Path:
        return self.home / "wp-content"

    def put(self, path: str, content: bytes) -> Path:
        file = self.content / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    def clear(self) -> None:
        shutil.rmtree(self.content)
        self.content.mkdir()
        (self.home / "index").unlink(missing_ok=True)

    def use_signatures(self, directory: Path | None) -> None:
        self.scanner._signatures = directory
        self.scanner.clamd._operator = directory

    async def scan(
        self,
        *,
        full: bool = False,
        known: bytes = b"",
        during: Callable[[], object] | None = None,
        seconds: float = 600.0,
        expected: dict[tuple[bytes, ...], bytes] | None = None,
        index_bytes: int = INDEX_BYTES,
    ) -> FileReport:
        """`during` is called in the middle of the scan."""
        (self.home / "known").write_bytes(known)
        async with self.scanner.open(self.home / "known", seconds) as (channel, engines):
            watched = _WatchedChannel(channel._channel)
            watched.during = during
            roots = [Root(self.content, "wp-content", expected=expected)]
            scan = SiteScan(
                *(watched, roots, self.home / "index", engines.version), full=full, index_bytes=index_bytes
            )
            return await run_in_thread(scan.run)


@asynccontextmanager
async def scanned_directory(
    home: Path, signatures: Path | None = None, *, reply_seconds: float = REPLY_SECONDS
) -> AsyncIterator[ScannedDirectory]:
    home.chmod(0o755)  # noqa: ASYNC240
    (home / "wp-content").mkdir()
    run = Processes("scanner-tests").run
    scanner = Scanner(home / "scanner", run, signatures, reply_seconds=reply_seconds)
    made = ScannedDirectory(home, scanner)
    try:
        yield made
    finally:
        await made.scanner.stop()


@asynccontextmanager
async def false_clamd(path: Path, reply: bytes) -> AsyncIterator[None]:
    """Listens at the address of clamd, names a version, and sends `reply` for a file; an empty one ends the
    session."""

    async def respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        count = 0
        while data := await reader.readuntil(b"\0"):
            if data.endswith(b"zVERSION\0"):
                count += 1
                writer.write(b"%d: ClamAV 1.0\0" % count)
            elif data.endswith(b"zFILDES\0"):
                if not reply:
                    break
                writer.write(reply)
        writer.close()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await respond(reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    server = await asyncio.start_unix_server(serve, path)
    path.chmod(0o777)  # noqa: ASYNC240
    try:
        yield
    finally:
        server.close()
