"""The control groups of containers: which limits took effect, and whether any process is left. Works with
version 1 (one tree per controller) and version 2 (one tree for all)."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
_REMOVE_SECONDS = 10.0
_POLL_SECONDS = 0.01


@dataclass(frozen=True)
class LimitEvents:
    """How often a limit took effect."""

    killed_for_memory: int = 0
    forks_refused: int = 0


def limit_events(cgroup: str) -> LimitEvents:
    """Must be read before the group is removed."""
    return LimitEvents(
        max(_count(path, "oom_kill") for path in _files(cgroup, "memory.oom_control", "memory.events")),
        max(_count(path, "max") for path in _files(cgroup, "pids.events")),
    )


def processes(cgroup: str) -> set[int]:
    found: set[int] = set()
    for path in _files(cgroup, "cgroup.procs"):
        try:
            found |= {int(line) for line in path.read_text().split()}
        except OSError:
            continue
    return found


def find(prefix: str) -> set[str]:
    """The groups at the root of any tree whose names begin with the prefix."""
    return {f"/{path.name}" for pattern in ("", "*/") for path in ROOT.glob(f"{pattern}{prefix}*")}


def remove(cgroup: str) -> None:
    """Kill every process of the group and remove it. Blocks; raises when it takes too long."""
    until = time.monotonic() + _REMOVE_SECONDS
    while left := processes(cgroup):
        if time.monotonic() > until:
            raise TimeoutError(f"{len(left)} processes of {cgroup} do not end")
        for pid in left:
            _kill(pid)
        time.sleep(_POLL_SECONDS)
    for path in _directories(cgroup):
        _remove_directory(path, until)


def _remove_directory(path: Path, until: float) -> None:
    while path.exists():
        try:
            path.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(_POLL_SECONDS)


def _directories(cgroup: str) -> list[Path]:
    return [ROOT / cgroup[1:], *(tree / cgroup[1:] for tree in ROOT.iterdir() if tree.is_dir())]


def _files(cgroup: str, *names: str) -> list[Path]:
    return [directory / name for directory in _directories(cgroup) for name in names]


def _count(path: Path, name: str) -> int:
    try:
        lines = path.read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.split()[:1] == [name]), 0)


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
