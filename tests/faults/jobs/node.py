"""The node of these tests seen from outside: its journal, what its simulator holds, the processes it started.

A step of the simulator is a `/bin/sleep` of so many seconds; stopping that process holds the step for as long
as a test needs, and letting it go on ends the step as if it had simply taken long.
"""

import os
import signal
import sqlite3
import sys
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stead.dev.running_stack import RunningStack
from stead.protocol.commands import Command
from tests.faults.jobs.programs import Program, until

PACE = 1.5
"""Seconds that a step takes when it shall be caught in the act."""
STEADCTL = (sys.executable, "-m", "stead.steadctl")

Place = tuple[str, str]
"""A job and a step of it."""


@dataclass(frozen=True)
class Entry:
    state: str
    carried_out: int
    epoch: int
    work: str


class Node:
    def __init__(self, stack: RunningStack, node: str, data: Path, *, capacity: int = 10_000) -> None:
        self.id, self.data = node, data
        settings = stack.node_environment(node, self.data) | {
            "STEAD_NODE_CAPACITY": str(capacity),
            # Held steps must not keep the others from beginning.
            "STEAD_NODE_COMMANDS": "100",
            # What is built here is built by the simulator; a node without images has no builder of its own.
            "STEAD_IMAGES": str(data / "no-images"),
        }
        self.program = Program([*STEADCTL, "node"], settings, stack.directory.logs / f"{node}.log")
        self.frozen: dict[Place, int] = {}
        self._pace = 0.0

    def start(self, pace: float = 0.0) -> None:
        self._pace = pace
        self.program.start(STEAD_SIMULATOR_SECONDS=f"{pace:g}")

    async def work_at(self, pace: float) -> None:
        """So many seconds for a step from now on. It must be at rest: to change its pace it is restarted."""
        if pace != self._pace or not self.program.runs:
            await self.program.stop()
            self.start(pace)

    async def kill(self) -> None:
        await self.program.kill()

    def steps(self, job: str) -> dict[str, Entry]:
        """What the journal tells of a job, by step."""
        rows = self._read(
            "select step, state, carried_out, epoch, command from steps where job = ? order by taken_at", job
        )
        return {
            step: Entry(state, times, epoch, _work(command)) for step, state, times, epoch, command in rows
        }

    def under_way(self) -> list[Place]:
        return self._read(
            "select job, step from steps where state in ('running', 'cancelling') order by taken_at, job"
        )

    def _read(self, sql: str, *args: str) -> list[Any]:
        with closing(sqlite3.connect(f"file:{self.data}/journal.sqlite?mode=ro", uri=True)) as journal:
            return journal.execute(sql, args).fetchall()

    def hosts(self, environment: str) -> set[str]:
        """The hosts that the environment answers."""
        return {
            path.name
            for path in (self.data / "simulator" / "hosts").iterdir()
            if not path.name.startswith(".") and environment in _text(path)
        }

    def carries(self, environment: str, *, live: bool = False) -> bool:
        home = self.data if live else self.data / "simulator"
        return (home / "environments" / environment).exists()

    def fail_at(self, *lines: str) -> None:
        """From now on the simulator refuses these, each a kind of work and a job."""
        path = self.data / "simulator" / "fail-at"
        fresh = path.with_name(".fail-at")
        fresh.write_text("".join(f"{line}\n" for line in lines))
        fresh.replace(path)

    async def freeze(self, places: set[Place]) -> None:
        """Holds each of these steps in the act, as soon as it is there."""

        async def look() -> bool:
            for place, pid in self._processes().items():
                if place in places and place not in self.frozen:
                    os.kill(pid, signal.SIGSTOP)
                    self.frozen[place] = pid
            for job, step in places - self.frozen.keys():
                entry = self.steps(job).get(step)
                assert entry is None or entry.state == "running", f"{step} of {job} was over too soon"
            return places <= self.frozen.keys()

        await until(look, f"{places} are at work on the node", poll=0.02)

    def _processes(self) -> dict[Place, int]:
        """Which process is whose. A job has one step at a time: what was under way before and after its
        process was seen is what the process is for."""
        before, found, after = self.under_way(), self._sleeps(), self.under_way()
        return {(job, step): found[job] for job, step in after if (job, step) in before and job in found}

    def _sleeps(self) -> dict[str, int]:
        """By job."""
        tasks = Path(f"/proc/{self.program.pid}/task")
        children = [int(pid) for path in tasks.glob("*/children") for pid in _text(path).split()]
        return {_job_of(pid): pid for pid in children if is_sleep(pid)}

    def thaw(self, *places: Place) -> None:
        """Lets steps go on; one whose process has been ended meanwhile is left in peace."""
        for place in places:
            pid = self.frozen.pop(place, None)
            if pid is not None and is_sleep(pid):
                os.kill(pid, signal.SIGCONT)


def _job_of(pid: int) -> str:
    """Empty when it has ended meanwhile."""
    with suppress(FileNotFoundError, ProcessLookupError):
        given = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
        return dict(each.partition("=")[::2] for each in given).get("STEAD_JOB", "")
    return ""


def is_sleep(pid: int) -> bool:
    """Whether the process of a step still is; its number may have become another's."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"/bin/sleep\0")
    except (FileNotFoundError, ProcessLookupError):
        return False


def _work(command: bytes | None) -> str:
    """The tag of what was asked; none where only a cancellation came."""
    if command is None:
        return ""
    return str(msgspec.msgpack.decode(command, type=Command).work.__struct_config__.tag)


def _text(path: Path) -> str:
    """Empty for one that was there when it was listed, and is not any more."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
