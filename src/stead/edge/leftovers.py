"""Cleans up after an nginx whose master was killed: its sockets would keep the next nginx from listening, and
the process of the page cache may still run if no worker was left to end it."""

import os
import signal
from contextlib import suppress
from pathlib import Path

from stead.edge.ledger import has_open
from stead.edge.settings import EdgeSettings

SOCKETS = ("private/admin", "private/probe", "inner-on", "inner-detection", "inner-off")


class AlreadyRunning(SystemExit):
    """Another edge runs from this directory."""


def end_leftovers(settings: EdgeSettings) -> None:
    """End nginx processes without a master that have this edge's ledger open, and remove the sockets."""
    alive = [pid for pid in processes_with_open(Path(settings.ledger_file)) if pid != os.getpid()]
    masters = [pid for pid in alive if title_of(pid).startswith("nginx: master")]
    if masters:
        raise AlreadyRunning(f"another edge runs from {settings.run}")
    for pid in alive:
        if title_of(pid).startswith("nginx: "):
            with suppress(ProcessLookupError):
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
        if process.name.isdigit() and _is_ours_and_has_open(int(process.name), wanted)
    ]


def _is_ours_and_has_open(pid: int, wanted: os.stat_result) -> bool:
    try:
        return has_open(pid, wanted)
    except PermissionError:  # a process of another user is none of this edge
        return False


def title_of(pid: int) -> str:
    """What the process calls itself; empty if it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
