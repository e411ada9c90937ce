"""The control groups of containers: which limits took effect, and whether any process is left. Works with
version 1 (one tree per controller) and version 2 (one tree for all)."""

import os
import signal
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

from stead.node.containers.limits import ContainerLimits

ROOT = Path("/sys/fs/cgroup")
_REMOVE_SECONDS = 10.0
_POLL_SECONDS = 0.01
_PERIOD = 100_000
_NO_LIMIT = 1 << 60
_MB = 1 << 20
_IO_WEIGHTS = ("blkio.weight", "blkio.bfq.weight", "io.weight", "io.bfq.weight")


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


@dataclass(frozen=True)
class Usage:
    cpu_ms: int
    """Since the group was made."""
    memory_bytes: int
    memory_limit: int
    """0 if there is none."""


def usage(cgroup: str) -> Usage | None:
    """None if the group does not exist."""
    nanoseconds = _number(cgroup, "cpuacct.usage")
    microseconds = max(_count(path, "usage_usec") for path in _files(cgroup, "cpu.stat"))
    memory = _number(cgroup, "memory.usage_in_bytes", "memory.current")
    if memory is None:
        return None
    limit = _number(cgroup, "memory.limit_in_bytes", "memory.max") or 0
    cpu_ms = microseconds // 1_000 if nanoseconds is None else nanoseconds // 1_000_000
    return Usage(cpu_ms, memory, limit if limit < _NO_LIMIT else 0)


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


def locate(name: str) -> set[str]:
    """The group with this name, which may be in a group at the root."""
    trees = [ROOT] if _is_version_2() else [tree for tree in ROOT.iterdir() if tree.is_dir()]
    found = ((tree, path) for tree in trees for place in (name, f"*/{name}") for path in tree.glob(place))
    return {f"/{path.relative_to(tree)}" for tree, path in found}


def make(cgroup: str, limits: ContainerLimits, *, has_processes: bool = False) -> None:
    """A group with limits, for the groups of several containers or for processes. If there is one, it gets
    these limits, unless its containers have higher ones."""
    if _is_version_2():
        _pass_controllers_on(ROOT)
        (ROOT / cgroup[1:]).mkdir(exist_ok=True)
        # No process can join a group that passes controllers on.
        _pass_controllers_on(ROOT / cgroup[1:], on=not has_processes)
        for name, value in _limits_of_version_2(limits).items():
            _set(ROOT / cgroup[1:] / name, value)
        return
    for controller, values in _limits_of_version_1(limits).items():
        group = ROOT / controller / cgroup[1:]
        group.mkdir(exist_ok=True)
        for name, value in values.items():
            _set(group / name, value)


def list_process_files(cgroup: str) -> list[Path]:
    """A process that writes 0 to all of them joins the group. Empty if there is no such group."""
    return [file for file in _files(cgroup, "cgroup.procs") if file.exists()]


def remove_empty(cgroup: str) -> None:
    for path in _directories(cgroup):
        with suppress(OSError):
            path.rmdir()


def _is_version_2() -> bool:
    return (ROOT / "cgroup.controllers").exists()


def _pass_controllers_on(group: Path, *, on: bool = True) -> None:
    for controller in ("memory", "cpu", "pids"):
        _set(group / "cgroup.subtree_control", f"{'+' if on else '-'}{controller}")


def _limits_of_version_2(limits: ContainerLimits) -> dict[str, str]:
    return {
        "memory.max": str(limits.memory_mb * _MB),
        "memory.swap.max": "0",
        "cpu.max": f"{int(limits.cpus * _PERIOD)} {_PERIOD}",
        # As runc converts shares: 2 to 262144 become 1 to 10000.
        "cpu.weight": str(1 + (max(limits.cpu_shares, 2) - 2) * 9999 // 262142),
        "pids.max": str(limits.processes),
    }


def _limits_of_version_1(limits: ContainerLimits) -> dict[str, dict[str, str]]:
    memory = str(limits.memory_mb * _MB)
    return {
        "memory": {
            "memory.use_hierarchy": "1",
            "memory.limit_in_bytes": memory,
            "memory.memsw.limit_in_bytes": memory,
        },
        "cpu": {
            "cpu.shares": str(limits.cpu_shares),
            "cpu.cfs_period_us": str(_PERIOD),
            "cpu.cfs_quota_us": str(int(limits.cpus * _PERIOD)),
        },
        "pids": {"pids.max": str(limits.processes)},
    }


def _set(file: Path, value: str) -> None:
    """Not every kernel has every file. The containers have these limits themselves, too."""
    with suppress(OSError):
        file.write_text(value)


def has_io_weights() -> bool:
    """Whether the kernel divides the time of disks by weight. Only a new group shows it: the files are not at
    the root."""
    probe = f"stead-probe-{token_hex(8)}"
    for tree in (ROOT / "blkio", ROOT):
        group = tree / probe
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            if any((group / name).exists() for name in _IO_WEIGHTS):
                return True
        finally:
            group.rmdir()
    return False


def remove(cgroup: str) -> None:
    """Kill every process of the group and of those in it, and remove them. Blocks; raises when it takes too
    long."""
    for path in _directories(cgroup):
        for child in [each.name for each in path.glob("*/")]:
            remove(f"{cgroup}/{child}")
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


def _number(cgroup: str, *names: str) -> int | None:
    for path in _files(cgroup, *names):
        try:
            return int(path.read_text())
        except (OSError, ValueError):  # `max` is no number
            continue
    return None


def _kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return
