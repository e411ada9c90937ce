"""Starts the engines for a scan: clamd, the compiled rules, and the process that reads files."""

import asyncio
import hashlib
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from stead.node.containers import cgroups
from stead.node.containers.limits import ContainerLimits
from stead.node.processes import Run, StreamName
from stead.node.scanning.child import Start
from stead.node.scanning.clamd_client import REPLY_SECONDS, ClamdUnavailable
from stead.node.scanning.clamd_server import EXECUTABLE, SCANNER_UID, UID, ClamdServer
from stead.node.scanning.scanner_channel import EngineFailed, ScannerChannel
from stead.node.scanning.yara_engine import digest_rules, list_rules
from stead.node.uninterrupted import run_in_pool, run_in_thread
from stead.shared.cancellation import raise_if_cancelled

SECONDS = 300.0
"""For the files of a scan. What is left is the next one's."""
LIMITS = ContainerLimits(memory_mb=4096, processes=64, cpus=1.0, cpu_shares=32)
"""Of the processes that read files, all together, so that visitors do not notice them."""
THREADS = ThreadPoolExecutor(max_workers=8, thread_name_prefix="scans")
"""Customers can make scans slow, and nothing else waits for them."""
_MAX_ERROR = 2000


def is_installed() -> bool:
    return shutil.which(EXECUTABLE, path="/usr/sbin:/usr/bin:/sbin:/bin") is not None


@dataclass(frozen=True)
class Engines:
    """What a scan was made with."""

    clamd: str
    rules: str
    signatures: str = ""
    """The digest of the signatures of clamd, which does not name those of an operator."""

    @property
    def version(self) -> str:
        """With another one, nothing of an earlier scan counts."""
        return f"{self.clamd} {self.rules} {self.signatures} {version('yara-x')}"


class Scanner:
    """`home` is a directory of the node; `signatures` one of the operator. clamd has `reply_seconds` for each
    reply."""

    def __init__(
        self, home: Path, run: Run, signatures: Path | None = None, *, reply_seconds: float = REPLY_SECONDS
    ) -> None:
        self._home, self._run, self._signatures = home, run, signatures
        self._reply_seconds = reply_seconds
        self.clamd = ClamdServer(home / "clamd", signatures)
        self._compiling = asyncio.Lock()

    @asynccontextmanager
    async def open(
        self, known: Path, seconds: float = SECONDS
    ) -> AsyncIterator[tuple[ScannerChannel, Engines]]:
        """`known` is a file with the hashes of files that are known to be good. After so many seconds, files
        have no result any more. Raises EngineFailed."""
        try:
            await self.clamd.ensure()
        except ClamdUnavailable as error:
            raise EngineFailed(str(error)) from None
        rules, digest = await self._compile()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with ours:
            with theirs:
                process = asyncio.create_task(self._run_child(theirs.fileno()))
                # The descriptor is inherited when the process starts.
                await asyncio.sleep(0)
            try:
                channel = ScannerChannel(ours)
                start = Start(
                    *(SCANNER_UID, UID, str(self.clamd.run_directory), self._reply_seconds, seconds),
                    await run_in_thread(self._make_group),
                )
                hello = await run_in_pool(THREADS, channel.start, start, rules, known)
                yield channel, Engines(hello.clamd, digest, self.clamd.digest_loaded())
            finally:
                with suppress(OSError):
                    ours.shutdown(socket.SHUT_RDWR)
                process.cancel()
                with suppress(asyncio.CancelledError):
                    await process
                raise_if_cancelled()

    async def stop(self) -> None:
        await self.clamd.stop()
        if self._home.exists():
            cgroups.remove_empty(self._cgroup)

    @property
    def _cgroup(self) -> str:
        return f"/stead-scanner-{self._home.stat().st_ino}"

    def _make_group(self) -> tuple[str, ...]:
        cgroups.make(self._cgroup, LIMITS, has_processes=True)
        return tuple(str(file) for file in cgroups.list_process_files(self._cgroup))

    async def _run_child(self, channel: int) -> None:
        await self._run(_argv("stead.node.scanning.child"), _ignore, stdin=channel)

    async def _compile(self) -> tuple[Path, str]:
        async with self._compiling:
            digest = await run_in_thread(lambda: digest_rules(list_rules(self._signatures)))
            target = self._home / f"rules-{digest}"
            if target.exists():
                return target, digest
            self._home.mkdir(mode=0o755, parents=True, exist_ok=True)
            errors = bytearray()

            async def collect(_: StreamName, data: bytes) -> None:
                errors.extend(data[: _MAX_ERROR - len(errors)])

            operator = [str(self._signatures)] if self._signatures is not None else []
            if await self._run(
                [*_argv("stead.node.scanning.compile_rules"), str(target), *operator], collect
            ):
                lines = errors.decode(errors="replace").splitlines() or ["no message"]
                raise EngineFailed(f"the rules cannot be read: {lines[0][:300]}")
            for old in self._home.glob("rules-*"):
                if old != target:
                    old.unlink(missing_ok=True)
            return target, digest


def _argv(module: str) -> list[str]:
    """Without a network, behind everything else on the node."""
    return [
        *("unshare", "--net", "--ipc", "--", "nice", "-n", "19", "ionice", "-c", "3", "--"),
        *(sys.executable, "-I", "-m", module),
    ]


async def _ignore(_: StreamName, __: bytes) -> None:
    """What it prints is about files of customers."""


class KnownFiles:
    """The hashes of files that are known to be good: those of an image, and those that the owner ignores."""

    def __init__(self, home: Path) -> None:
        self._home = home

    def write(
        self, target: Path, images: Iterable[tuple[str, Iterable[Path]]], ignored: Collection[str]
    ) -> None:
        """Blocks. `images` are the names of images and the directories in them."""
        content = bytearray()
        for name, directories in images:
            content += self._of_image(name, directories)
        for digest in ignored:
            content += bytes.fromhex(digest)
        target.write_bytes(content)

    def _of_image(self, name: str, directories: Iterable[Path]) -> bytes:
        cached = self._home / f"known-{name.replace(':', '-')}"
        if not cached.exists():
            files = (path for each in directories for path in each.rglob("*") if path.is_file())
            fresh = cached.with_suffix(".new")
            fresh.write_bytes(b"".join(_hash(path) for path in files))
            fresh.rename(cached)
        return cached.read_bytes()


def _hash(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").digest()
