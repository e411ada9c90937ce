"""How much memory and disk every engine and program of a stack uses."""

import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from stead.dev.programs import NodeAgent
from stead.dev.running_stack import RunningStack

MIB = 1024 * 1024


@dataclass(frozen=True)
class Footprint:
    memory: dict[str, int]
    """Memory of each program and its children, in MiB. The builds on the node are counted on their own."""
    disk: dict[str, int]
    """Size of each directory below the stack's data directory, in MiB."""


def measure(stack: RunningStack) -> Footprint:
    children = _children()
    memory: dict[str, int] = {}
    for status in stack.supervisor.statuses:
        if status.process is None:
            continue
        first, *others = _tree(status.process.pid, children)
        if status.name == NodeAgent.name:
            memory |= {status.name: _memory([first]), "builds": _memory(others)}
        else:
            memory[status.name] = _memory([first, *others])
    homes = [path for path in stack.directory.path.iterdir() if path.is_dir()]
    return Footprint(memory, {path.name: _size(path) // MIB for path in homes})


def _children() -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            found.setdefault(parent, []).append(int(entry.name))
    return found


def _tree(pid: int, children: dict[int, list[int]]) -> list[int]:
    return [pid, *(other for child in children.get(pid, []) for other in _tree(child, children))]


def _memory(pids: Iterable[int]) -> int:
    """In MiB. Memory that processes share is counted once."""
    return sum(map(_proportional_kib, pids)) // 1024


def _proportional_kib(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))


def _size(directory: Path) -> int:
    """Blocks in use, so that sparse files count as what they occupy."""
    total = 0
    for root, _, files in os.walk(directory):
        for name in files:
            try:
                total += Path(root, name).lstat().st_blocks * 512
            except FileNotFoundError:
                continue
    return total
