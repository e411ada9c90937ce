"""Ends processes that a killed agent left running. They are found by the token in their environment, and
ended before their command runs again."""

import os
import signal
import time
from pathlib import Path

VARIABLE = "STEAD_STARTED_BY"
"""Set for every process of a command. A driver that starts a process to outlive its command omits it."""

TIMEOUT_SECONDS = 10.0
_POLL_SECONDS = 0.02


def end_leftovers(token: str) -> int:
    """Return how many there were. Blocks until they are gone, because nothing may start before that."""
    mark = f"{VARIABLE}={token}".encode()
    until = time.monotonic() + TIMEOUT_SECONDS
    ended: set[int] = set()
    # Repeat until none is found: a process may have started another one before it was killed.
    while marked := {pid for pid in _pids() if mark in _environment(pid) and not is_zombie(pid)}:
        if time.monotonic() > until:
            raise TimeoutError(f"{len(marked)} leftover processes do not end")
        ended |= marked
        for pid in marked:
            _kill(pid)
        time.sleep(_POLL_SECONDS)
    return len(ended)


def group_alive(group: int) -> bool:
    """Whether a process of the group still runs. Zombies do not count."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return any(_group(pid) == group and not is_zombie(pid) for pid in _pids())


def is_zombie(pid: int) -> bool:
    return _fields(pid)[:1] in ([], ["Z"], ["X"])


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def _fields(pid: int) -> list[str]:
    """State, parent and so on; empty when the process has ended."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        return []
    # The name of the program may contain spaces and parentheses; the fields after the last one do not.
    return stat.rpartition(")")[2].split()


def _environment(pid: int) -> list[bytes]:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return []


def _pids() -> list[int]:
    return [int(name) for name in os.listdir("/proc") if name.isdecimal()]  # noqa: PTH208 - many times faster


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
