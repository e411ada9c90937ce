"""What an nginx leaves behind whose first process was killed: sockets that stop the next one from listening,
and the keeper of the page cache, if no worker was left to take it along."""

import os
import signal
from pathlib import Path

from stead.edge.settings import EdgeSettings

SOCKETS = ("private/admin", "private/probe", "inner-on", "inner-detection", "inner-off")


class AlreadyRunning(SystemExit):
    """Another edge serves from this directory."""


def end_leftovers(settings: EdgeSettings) -> None:
    """Harms nobody who has a parent of his own: an orphan of ours has our ledger open and no master."""
    alive = [pid for pid in holders(Path(settings.ledger_file)) if pid != os.getpid()]
    masters = [pid for pid in alive if _title(pid).startswith("nginx: master")]
    if masters:
        raise AlreadyRunning(f"another edge runs from {settings.run}")
    for pid in alive:
        if _title(pid).startswith("nginx: "):
            os.kill(pid, signal.SIGKILL)
    for name in SOCKETS:
        Path(settings.run, f"{name}.sock").unlink(missing_ok=True)


def holders(file: Path) -> list[int]:
    """The processes that have it open."""
    try:
        wanted = file.stat()
    except FileNotFoundError:
        return []
    return [
        int(process.name)
        for process in Path("/proc").iterdir()
        if process.name.isdigit() and _open(process / "fd", (wanted.st_dev, wanted.st_ino))
    ]


def _open(descriptors: Path, wanted: tuple[int, int]) -> bool:
    try:
        for link in descriptors.iterdir():
            there = link.stat()
            if (there.st_dev, there.st_ino) == wanted:
                return True
    except OSError:
        pass
    return False


def _title(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:
        return ""
