"""The control groups of a stage: what its limits had to do, and that nothing is left in them. Both of the
kernel's arrangements are understood: a tree for each controller, and one for all."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
_PATIENCE = 10.0
_POLL = 0.01


@dataclass(frozen=True)
class Strain:
    """How often a limit had to act."""

    killed_for_memory: int = 0
    forks_refused: int = 0


def strain(cgroup: str) -> Strain:
    """Must be asked before the group is removed."""
    return Strain(
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


def named(prefix: str) -> set[str]:
    """Groups at the root whose name begins so, in whichever tree."""
    return {f"/{path.name}" for pattern in ("", "*/") for path in ROOT.glob(f"{pattern}{prefix}*")}


def end(cgroup: str) -> None:
    """Nothing runs in it and it is gone. Blocks; raises when the kernel does not let go in time."""
    until = time.monotonic() + _PATIENCE
    while left := processes(cgroup):
        if time.monotonic() > until:
            raise TimeoutError(f"{len(left)} processes of {cgroup} do not end")
        for pid in left:
            _kill(pid)
        time.sleep(_POLL)
    for path in _places(cgroup):
        _remove(path, until)


def _remove(path: Path, until: float) -> None:
    while path.exists():
        try:
            path.rmdir()
        except OSError:
            if time.monotonic() > until:
                raise
            time.sleep(_POLL)


def _places(cgroup: str) -> list[Path]:
    return [ROOT / cgroup[1:], *(tree / cgroup[1:] for tree in ROOT.iterdir() if tree.is_dir())]


def _files(cgroup: str, *names: str) -> list[Path]:
    return [place / name for place in _places(cgroup) for name in names]


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
