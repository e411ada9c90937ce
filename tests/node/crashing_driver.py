"""`python -m tests.node.crashing_driver PLAN DONE N`: carries out the plan with the real driver of static
sites, and is killed immediately before the Nth change of the file system. With N = 0 it is not killed.

The file DONE has the number of commands that were completed, like the journal of a node. A later process goes
on with the command that was interrupted.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Literal

import msgspec

from stead.node.drivers.driver import Assignment
from stead.node.drivers.static_runtime import StaticRuntime
from stead.node.processes import StreamName
from stead.protocol.work.releases import EnsureRelease

CHANGES = {
    *("os.mkdir", "os.rename", "os.remove", "os.rmdir", "os.chmod", "os.utime", "os.link", "os.symlink"),
}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT


class Task(msgspec.Struct):
    """One command to the driver."""

    kind: Literal["ensure", "release", "remove"]
    environment: str
    release: EnsureRelease | None = None


class Plan(msgspec.Struct):
    data: str
    tasks: list[Task]


class IgnoredOutput:
    async def say(self, _text: str) -> None:
        return

    async def chunk(self, _stream: StreamName, _data: bytes) -> None:
        return


def die_before_change(number: int) -> None:
    count = 0

    def observe(event: str, args: tuple[Any, ...]) -> None:
        nonlocal count
        if event in CHANGES or (event == "open" and _writes(*args)):
            count += 1
            if count == number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(observe)


def _writes(path: object, _: object, flags: int) -> bool:
    return bool(flags & WRITING) and not str(path).endswith(".pyc")


async def carry_out(plan: Plan, done: Path) -> None:
    runtime = StaticRuntime(Path(plan.data), lambda: set())
    for number, task in enumerate(plan.tasks):
        if number < _completed(done):
            continue
        await _action(runtime, task)()
        _record(done, number + 1)
    await runtime.tidy()


def _action(runtime: StaticRuntime, task: Task) -> Callable[[], Awaitable[None]]:
    it = Assignment("job", "site", task.environment, IgnoredOutput())
    match task:
        case Task("ensure"):
            return lambda: runtime.ensure_environment(it)
        case Task("remove"):
            return lambda: runtime.remove_environment(it)
        case Task("release", release=EnsureRelease() as release):
            return lambda: runtime.ensure_release(it, release)
    raise ValueError(task)


def _completed(done: Path) -> int:
    return int(done.read_text()) if done.exists() else 0


def _record(done: Path, number: int) -> None:
    new = done.with_suffix(".new")
    new.write_text(str(number))
    new.replace(done)


def main() -> None:
    plan, done, number = sys.argv[1:]
    wanted = msgspec.msgpack.decode(Path(plan).read_bytes(), type=Plan)
    die_before_change(int(number))
    asyncio.run(carry_out(wanted, Path(done)))


if __name__ == "__main__":
    main()
