"""Taking the ledger away without losing a line: rename, tell nginx, wait until nobody writes to the old file.

The workers hold lines back for up to a second; told to reopen, each first writes what it holds.
"""

import asyncio
import os
import signal
import time
from pathlib import Path

PATIENCE = 10.0
_POLL = 0.02


class LedgerStillOpen(Exception):
    """nginx still writes to a ledger that was taken away; it may be read, but is not finished."""


async def rotate_ledger(ledger: Path, master: int) -> Path:
    """The finished file, named after the moment. `master` is nginx's first process."""
    taken = ledger.with_name(f"{ledger.stem}.{time.time_ns()}{ledger.suffix}")
    what = _rename(ledger, taken)
    os.kill(master, signal.SIGUSR1)
    until = time.monotonic() + PATIENCE
    while any(_holds(pid, what) for pid in nginx_processes(master)):
        if time.monotonic() > until:
            raise LedgerStillOpen(str(taken))
        await asyncio.sleep(_POLL)
    return taken


def _rename(ledger: Path, taken: Path) -> os.stat_result:
    ledger.rename(taken)
    return taken.stat()


def nginx_processes(master: int) -> list[int]:
    """nginx's first process and its workers."""
    try:
        children = Path(f"/proc/{master}/task/{master}/children").read_text()
    except FileNotFoundError:
        return []
    return [master, *map(int, children.split())]


def _holds(pid: int, what: os.stat_result) -> bool:
    try:
        return any(_same(link, what) for link in Path(f"/proc/{pid}/fd").iterdir())
    except (FileNotFoundError, ProcessLookupError):
        return False


def _same(link: Path, what: os.stat_result) -> bool:
    try:
        there = link.stat()
    except OSError:
        return False
    return (there.st_dev, there.st_ino) == (what.st_dev, what.st_ino)
