"""Rotates the ledger without losing a line: rename it, tell nginx to reopen it, and wait until no process has
the old file open.

The workers buffer lines for up to a second; before they reopen the file, they write their buffers.
"""

import asyncio
import os
import signal
import time
from pathlib import Path

TIMEOUT_SECONDS = 10.0
_POLL_SECONDS = 0.02


class LedgerStillOpen(Exception):
    """nginx still writes to the rotated ledger, so the file is not complete."""


async def rotate_ledger(ledger: Path, master: int) -> Path:
    """Return the complete file, whose name contains the time. `master` is the pid of nginx's master."""
    rotated = ledger.with_name(f"{ledger.stem}.{time.time_ns()}{ledger.suffix}")
    status = _rename(ledger, rotated)
    os.kill(master, signal.SIGUSR1)
    until = time.monotonic() + TIMEOUT_SECONDS
    while any(has_open(pid, status) for pid in nginx_processes(master)):
        if time.monotonic() > until:
            raise LedgerStillOpen(str(rotated))
        await asyncio.sleep(_POLL_SECONDS)
    return rotated


def _rename(ledger: Path, rotated: Path) -> os.stat_result:
    ledger.rename(rotated)
    return rotated.stat()


def nginx_processes(master: int) -> list[int]:
    """The master and its workers."""
    try:
        children = Path(f"/proc/{master}/task/{master}/children").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [master, *map(int, children.split())]


def has_open(pid: int, status: os.stat_result) -> bool:
    try:
        return any(_is_same_file(link, status) for link in Path(f"/proc/{pid}/fd").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return False


def _is_same_file(link: Path, status: os.stat_result) -> bool:
    try:
        opened = link.stat()
    except OSError:
        return False
    return (opened.st_dev, opened.st_ino) == (status.st_dev, status.st_ino)
