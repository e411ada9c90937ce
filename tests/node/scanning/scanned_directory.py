"""A directory of files that is scanned with the real engines, without a site."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from stead.node.processes import Processes
from stead.node.scanning.scanner import Scanner
from stead.node.scanning.site_scan import FileReport, Root, SiteScan
from stead.node.uninterrupted import run_in_thread


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

    async def scan(self, *, full: bool = False, known: bytes = b"") -> FileReport:
        (self.home / "known").write_bytes(known)
        async with self.scanner.open(self.home / "known") as (channel, engines):
            roots = [Root(self.content, "wp-content")]
            scan = SiteScan(channel, roots, self.home / "index", engines.version, full=full)
            return await run_in_thread(scan.run)


@asynccontextmanager
async def scanned_directory(home: Path, signatures: Path | None = None) -> AsyncIterator[ScannedDirectory]:
    home.chmod(0o755)  # noqa: ASYNC240
    (home / "wp-content").mkdir()
    made = ScannedDirectory(home, Scanner(home / "scanner", Processes("scanner-tests").run, signatures))
    try:
        yield made
    finally:
        await made.scanner.clamd.stop()
