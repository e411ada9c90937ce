"""Processes that a killed agent left running: found by the token they were started with, and ended before
their command is carried out again."""

import os
import signal
import time
from pathlib import Path

VARIABLE = "STEAD_STARTED_BY"
"""Every process of a command carries it; a driver that starts one to outlive its command leaves it out."""

PATIENCE = 10.0
_POLL = 0.02


def end_leftovers(token: str) -> int:
    """How many there were. Blocks until they are gone: nothing may start before."""
    mark = f"{VARIABLE}={token}".encode()
    until = time.monotonic() + PATIENCE
    found: set[int] = set()
    # Again until a look finds none: one may have started another between the look and the signal.
    while marked := {pid for pid in _pids() if mark in _environment(pid) and not is_zombie(pid)}:
        if time.monotonic() > until:
            raise TimeoutError(f"{len(marked)} processes of an earlier life do not end")
        found |= marked
        for pid in marked:
            _kill(pid)
        time.sleep(_POLL)
    return len(found)


def group_alive(group: int) -> bool:
    """Whether a process of the group still runs; one that only waits to be reaped does not."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return any(_group(pid) == group and not is_zombie(pid) for pid in _pids())


def is_zombie(pid: int) -> bool:
    return _fields(pid)[:1] in ([], ["Z"], ["X"])


def _group(pid: int) -> int | None:
    fields = _fields(pid)
    return int(fields[2]) if fields else None


def _fields(pid: int) -> list[str]:
    """State, parent, group and so on; empty when it is gone."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    # The name may hold spaces and parentheses; the fields after the last one are plain.
    return stat.rpartition(")")[2].split()


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def _pids() -> list[int]:
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal()]


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
