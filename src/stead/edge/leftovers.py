"""Cleans up after an nginx whose master was killed: its sockets would keep the next nginx from listening, and
the process of the page cache may still run if no worker was left to end it."""

import os
import signal
from pathlib import Path

from stead.edge.settings import EdgeSettings

SOCKETS = ("private/admin", "private/probe", "inner-on", "inner-detection", "inner-off")


class AlreadyRunning(SystemExit):
    """Another edge runs from this directory."""


def end_leftovers(settings: EdgeSettings) -> None:
    """End nginx processes without a master that have this edge's ledger open, and remove the sockets."""
    alive = [pid for pid in processes_with_open(Path(settings.ledger_file)) if pid != os.getpid()]
    masters = [pid for pid in alive if _title(pid).startswith("nginx: master")]
    if masters:
        raise AlreadyRunning(f"another edge runs from {settings.run}")
    for pid in alive:
        if _title(pid).startswith("nginx: "):
            os.kill(pid, signal.SIGKILL)
    for name in SOCKETS:
        Path(settings.run, f"{name}.sock").unlink(missing_ok=True)


def processes_with_open(file: Path) -> list[int]:
    """The pids of the processes that have the file open."""
    try:
        wanted = file.stat()
    except FileNotFoundError:
        return []
    return [
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdigit() and _has_open(process / "fd", (wanted.st_dev, wanted.st_ino))
    ]


def _has_open(descriptors: Path, wanted: tuple[int, int]) -> bool:
    try:
        for link in descriptors.iterdir():
            opened = link.stat()
            if (opened.st_dev, opened.st_ino) == wanted:
                return True
    except OSError:
        pass
    return False


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
