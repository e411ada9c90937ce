"""The node of these tests: its journal, what its simulator has recorded, the processes it has started.

A step that a test holds is a `/bin/sleep` of an hour; the step goes on when the test kills that process.
"""

import os
import shutil
import signal
import sqlite3
import sys
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stead.dev.running_stack import RunningStack
from stead.protocol.commands import Command
from tests.faults.jobs.holding_node import holds_of, reached_of
from tests.faults.jobs.programs import Program, python_path, until

STEADCTL = (sys.executable, "-m", "stead.steadctl")
HOLDING = (sys.executable, "-m", "tests.faults.jobs.holding_node")

JobStep = tuple[str, str]
"""A job and the name of one of its steps."""


@dataclass(frozen=True)
class JournalEntry:
    state: str
    carried_out: int
    epoch: int
    work: str


class Node:
    def __init__(self, stack: RunningStack, node: str, data: Path, *, capacity: int = 10_000) -> None:
        self.id, self.data = node, data
        settings = stack.node_environment(node, self.data) | {
            "STEAD_NODE_CAPACITY": str(capacity),
            # Held steps must not keep others from starting.
            "STEAD_NODE_COMMANDS": "100",
            # Builds are simulated here: without images a node offers no builder of its own.
            "STEAD_IMAGES": str(data / "no-images"),
        }
        log = stack.directory.logs / f"{node}.log"
        self._usual = Program([*STEADCTL, "node"], settings, log)
        holding = settings | {"PYTHONPATH": python_path()}
        self._holding = Program(HOLDING, holding, log)
        self.program = self._usual
        self.held: dict[JobStep, int] = {}
        """The process of each step that is held."""
        self._to_hold: set[JobStep] = set()
        self._step_seconds = 0.0
        self._host_records: dict[tuple[str, int, int], str] = {}
        """What files of hosts contain, by name, inode and time. A file is replaced and never changed."""

    def start(self, step_seconds: float = 0.0) -> None:
        """A new agent holds nothing: what it resumes goes on."""
        self._set_holds(set())
        self._step_seconds = step_seconds
        self.program.start(STEAD_SIMULATOR_SECONDS=f"{step_seconds:g}")

    async def set_step_seconds(self, seconds: float) -> None:
        """Set how long every simulated step takes. The node must have nothing to do: it may be restarted."""
        if seconds != self._step_seconds or not self.program.is_running:
            await self.program.stop()
            self.start(seconds)

    async def hold_after_effects(self) -> None:
        """Replace the agent by one that can hold steps when they are done and not recorded yet, until it is
        killed. The node must have nothing to do."""
        await self.program.stop()
        shutil.rmtree(holds_of(self.data), ignore_errors=True)
        reached_of(self.data).mkdir(parents=True)
        self.program = self._holding
        self.start()

    async def kill(self) -> None:
        """End it like a crash. What is started next is the usual agent."""
        await self.program.kill()
        self.program = self._usual

    def hold_after(self, steps: Iterable[JobStep]) -> None:
        """Hold these steps when they are done."""
        write_lines(holds_of(self.data) / "after", [" ".join(step) for step in steps])

    def is_held_after(self, step: JobStep) -> bool:
        return (reached_of(self.data) / " ".join(step)).exists()

    def steps(self, job: str) -> dict[str, JournalEntry]:
        """The steps of a job in the node's journal, by name."""
        rows = self._read(
            "select step, state, carried_out, epoch, command from steps where job = ? order by taken_at", job
        )
        return {
            step: JournalEntry(state, times, epoch, _kind_of_work(command))
            for step, state, times, epoch, command in rows
        }

    def _read(self, sql: str, *args: str) -> list[Any]:
        with closing(sqlite3.connect(f"file:{self.data}/journal.sqlite?mode=ro", uri=True)) as journal:
            return journal.execute(sql, args).fetchall()

    def hosts(self, environment: str) -> set[str]:
        """The hosts that lead to an environment in the simulator."""
        return {host for host, record in self._read_host_records() if environment in record}

    def _read_host_records(self) -> Iterator[tuple[str, str]]:
        """There are thousands of files, and each job that ends asks for them."""
        with os.scandir(self.data / "simulator" / "hosts") as files:
            for file in files:
                if file.name.startswith("."):
                    continue
                try:
                    status = file.stat()
                except FileNotFoundError:
                    continue  # it has been deleted since it was listed
                version = file.name, status.st_ino, status.st_mtime_ns
                if version not in self._host_records:
                    self._host_records[version] = _read_text(Path(file.path))
                yield file.name, self._host_records[version]

    def datasets(self, environment: str) -> set[str]:
        """What the simulator has made for an environment, by the end of the ids of the jobs."""
        found = (self.data / "simulator" / "datasets").glob(f"{environment}.*")
        return {path.name.rpartition(".")[2] for path in found}

    def has_environment(self, environment: str, *, live: bool = False) -> bool:
        home = self.data if live else self.data / "simulator"
        return (home / "environments" / environment).exists()

    def fail_at(self, *lines: str) -> None:
        """Let the simulator refuse work from now on; each line is a kind of work and a job."""
        write_lines(self.data / "simulator" / "fail-at", lines)

    def hold(self, steps: Iterable[JobStep]) -> None:
        """Hold these steps as soon as they start, until they are released. They must not have started yet.
        A worker that is too slow to send heartbeats is taken for lost, and its step is started again: it is
        held again."""
        self._set_holds(set(steps))

    def _set_holds(self, steps: set[JobStep]) -> None:
        self._to_hold = steps
        home = self.data / "simulator"
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        write_lines(home / "hold-at", [" ".join(step) for step in steps])

    async def wait_until_held(self, steps: Collection[JobStep]) -> None:
        """Wait until each of these steps is held."""
        by_job = dict(steps)
        assert len(by_job) == len(steps), "only one step of a job can run"

        async def look() -> bool:
            for job, pid in self._waiting_processes().items():
                if job in by_job:
                    self.held[job, by_job[job]] = pid
            return self.held.keys() >= set(steps)

        await until(look, f"the node holds {steps}")

    def _waiting_processes(self) -> dict[str, int]:
        """The processes of simulated steps, by job."""
        tasks = Path(f"/proc/{self.program.pid}/task")
        children = [int(pid) for path in tasks.glob("*/children") for pid in _read_text(path).split()]
        return {_job_of(pid): pid for pid in children if is_waiting(pid)}

    def release(self, *steps: JobStep) -> None:
        """Let held steps go on. The process of a step may have been ended by something else."""
        held = self._to_hold.intersection(steps)
        self._set_holds(self._to_hold - held)
        waiting = self._waiting_processes() if held else {}
        for step in steps:
            pids = {self.held.pop(step, 0), waiting.get(step[0], 0) if step in held else 0}
            for pid in filter(is_waiting, pids - {0}):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)


def write_lines(path: Path, lines: Iterable[str]) -> None:
    new = path.with_name(f".{path.name}")
    new.write_text("".join(f"{line}\n" for line in lines))
    new.replace(path)


def _job_of(pid: int) -> str:
    """The job of a simulated step; empty if its process has ended."""
    with suppress(FileNotFoundError, ProcessLookupError):
        variables = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
        return dict(each.partition("=")[::2] for each in variables).get("STEAD_JOB", "")
    return ""


def is_waiting(pid: int) -> bool:
    """Whether the process of a simulated step still exists; its number may belong to another process now."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().startswith(b"/bin/sleep\0")
    except (FileNotFoundError, ProcessLookupError):
        return False


def _kind_of_work(command: bytes | None) -> str:
    """The tag of the work in a command; empty if the node received only a cancellation."""
    if command is None:
        return ""
    return str(msgspec.msgpack.decode(command, type=Command).work.__struct_config__.tag)


def _read_text(path: Path) -> str:
    """The content of a file; empty if it has been deleted since it was listed."""
    try:
        return path.read_text()
    except (FileNotFoundError, ProcessLookupError):
        return ""
