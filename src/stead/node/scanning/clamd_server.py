"""Runs clamd for this node: with our signatures and those of the operator, its own user, and no network."""

import asyncio
import hashlib
import os
import shutil
import time
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import structlog

from stead.node.containers import cgroups, join_group
from stead.node.containers.limits import FIRST_UID, ContainerLimits
from stead.node.outliving_process import OutlivingProcess
from stead.node.scanning.clamd_client import ClamdSession, ClamdUnavailable
from stead.node.scanning.yara_engine import RULES
from stead.node.uninterrupted import run_in_thread

EXECUTABLE = "clamd"
UID, SCANNER_UID = FIRST_UID - 2, FIRST_UID - 3
"""The users of clamd and of the process that reads files, which is in the group of clamd to reach its socket.
They own nothing, and need no accounts."""
SIGNATURES = ("*.hdb", "*.hsb", "*.ndb", "*.ldb", "*.cvd", "*.cld", "*.cdb", "*.fp", "*.sfp", "*.ign2")
READY_SECONDS = 120.0
"""The official databases take a while to load."""
LIMITS = ContainerLimits(memory_mb=2048, processes=64, cpus=1.0, cpu_shares=32)
_STOP_SECONDS = 10.0
_POLL_SECONDS = 0.1

log = structlog.get_logger()


class ClamdServer:
    def __init__(
        self, home: Path, signatures: Path | None = None, *, memory_mb: int = LIMITS.memory_mb
    ) -> None:
        """`signatures` is a directory of the operator."""
        self._home, self._operator, self._memory_mb = home, signatures, memory_mb
        own = f"--config-file={self._file('clamd.conf')}".encode()
        self._process = OutlivingProcess(self._file("clamd.pid"), lambda command: own in command.split(b"\0"))
        self._loaded: tuple[tuple[str, int, int], ...] = ()
        self._starting = asyncio.Lock()

    @property
    def run_directory(self) -> Path:
        """It contains the socket only: the scanner sees it as its root directory."""
        return self._file("run")

    @property
    def socket(self) -> Path:
        return self.run_directory / "clamd.sock"

    def find_process(self) -> int | None:
        return self._process.find()

    async def ensure(self) -> None:
        """Return when clamd answers, with the signatures that there are now. One that ends or does not answer
        is started again. Raises ClamdUnavailable."""
        async with self._starting:
            wanted = await run_in_thread(self._list_signatures)
            if self.find_process() is not None and wanted == self._loaded:
                with suppress(ClamdUnavailable):
                    await self._wait_until_ready()
                    return
            await self.stop()
            await run_in_thread(self._spawn)
            await self._wait_until_ready()
            if self.find_process() not in cgroups.processes(self._cgroup):
                log.warning("scanning.clamd_without_limits", group=self._cgroup)
            self._loaded = wanted

    def digest_loaded(self) -> str:
        """The version of all signatures that it has loaded."""
        return hashlib.sha256(repr(self._loaded).encode()).hexdigest()[:16]

    async def stop(self) -> None:
        await self._process.end(_STOP_SECONDS)
        if self._home.exists():
            cgroups.remove_empty(self._cgroup)

    @property
    def _cgroup(self) -> str:
        return f"/stead-clamd-{self._home.stat().st_ino}"

    def _file(self, name: str) -> Path:
        return self._home / name

    def _sources(self) -> list[Path]:
        directories = [RULES, *([self._operator] if self._operator is not None else [])]
        return [file for each in directories for pattern in SIGNATURES for file in sorted(each.glob(pattern))]

    def _list_signatures(self) -> tuple[tuple[str, int, int], ...]:
        found = ((file, file.stat()) for file in self._sources())
        return tuple((str(file), status.st_size, status.st_mtime_ns) for file, status in found)

    def _spawn(self) -> None:
        executable = shutil.which(EXECUTABLE, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        if executable is None:
            raise ClamdUnavailable(f"{EXECUTABLE} is not installed")
        database = self._file("database")
        shutil.rmtree(database, ignore_errors=True)
        for directory in (self._home, self.run_directory, database):
            directory.mkdir(parents=True, exist_ok=True)
            directory.chmod(0o755)
        os.chown(self.run_directory, UID, UID)
        for place, source in enumerate(self._sources()):
            copy = database / f"{place}-{source.name}"
            shutil.copyfile(source, copy)
            copy.chmod(0o644)
        self.socket.unlink(missing_ok=True)
        self._file("clamd.conf").write_text(_configure(database, self.socket))
        self._file("clamd.conf").chmod(0o644)
        cgroups.make(self._cgroup, replace(LIMITS, memory_mb=self._memory_mb), has_processes=True)
        limited = join_group.build_argv(cgroups.list_process_files(self._cgroup))
        alone = ("unshare", "--net", "--ipc", "--", "nice", "-n", "19", "ionice", "-c", "3", "--")
        user = ("setpriv", f"--reuid={UID}", f"--regid={UID}", "--clear-groups", "--no-new-privs", "--")
        with self._file("clamd.log").open("wb") as output:
            self._process.start(
                (*limited, *alone, *user, executable, f"--config-file={self._file('clamd.conf')}"), output
            )
        pid = self.find_process()
        if pid is not None:
            self._file("clamd.pid").write_text(str(pid))

    async def _wait_until_ready(self) -> None:
        until = time.monotonic() + READY_SECONDS
        while not await run_in_thread(self._answers):
            if self.find_process() is None:
                raise ClamdUnavailable(f"clamd has ended: {self._last_line()}")
            if time.monotonic() > until:
                raise ClamdUnavailable("clamd does not answer")
            await asyncio.sleep(_POLL_SECONDS)

    def _answers(self) -> bool:
        try:
            session = ClamdSession(str(self.socket), seconds=10.0)
        except ClamdUnavailable:
            return False
        try:
            return bool(session.ask_version())
        except ClamdUnavailable:
            return False
        finally:
            session.close()

    def _last_line(self) -> str:
        lines = self._file("clamd.log").read_text(errors="replace").splitlines() or ["no message"]
        return next((line for line in reversed(lines) if "ERROR" in line), lines[-1])[-200:]


def _configure(database: Path, socket: Path) -> str:
    """Files are passed as descriptors. What exceeds a limit is reported, and never taken for clean."""
    settings = {
        "DatabaseDirectory": str(database),
        "LocalSocket": str(socket),
        "LocalSocketMode": "660",
        "Foreground": "yes",
        "MaxThreads": "4",
        "MaxQueue": "100",
        "IdleTimeout": "60",
        "ConcurrentDatabaseReload": "no",
        "SelfCheck": "0",
        # Of the clock: it comes behind everything else on the node.
        "MaxScanTime": "20000",
        "MaxFileSize": "64M",
        "MaxScanSize": "128M",
        "MaxRecursion": "10",
        "MaxFiles": "2000",
        "AlertExceedsMax": "yes",
        "HeuristicAlerts": "no",
        "PhishingSignatures": "no",
        "PhishingScanURLs": "no",
        "DetectPUA": "no",
        "ExitOnOOM": "yes",
    }
    return "".join(f"{name} {value}\n" for name, value in settings.items())
