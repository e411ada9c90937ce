"""Starts programs in the order of their dependencies, in parallel where possible. Stops them in reverse."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from stead.dev.child_process import ChildProcess, ChildState, ChildStatus, StatusListener
from stead.dev.errors import DevError
from stead.dev.supervised_program import SupervisedProgram


class Supervisor:
    def __init__(self, programs: Sequence[SupervisedProgram], logs: Path, on_change: StatusListener) -> None:
        self._children = {
            program.name: ChildProcess(program, logs / f"{program.name}.log", on_change)
            for program in programs
        }
        self._dependencies = {program.name: _dependencies(program, programs) for program in programs}

    @property
    def statuses(self) -> list[ChildStatus]:
        return [child.status for child in self._children.values()]

    def child(self, name: str) -> ChildProcess:
        return self._children[name]

    async def read_versions(self) -> None:
        """Reads the version of every program for the status display."""
        children = list(self._children.values())
        versions = await asyncio.gather(*(child.program.read_version() for child in children))
        for child, version in zip(children, versions, strict=True):
            child.status.version = version

    async def start(self) -> None:
        """Returns when every program is ready. After a failure the caller must call `stop`."""
        for child in self._children.values():
            child.program.find_executable()
        ready = {name: asyncio.Event() for name in self._children}
        try:
            async with asyncio.TaskGroup() as group:
                for child in self._children.values():
                    group.create_task(self._start_child(child, ready))
        except* DevError as failures:
            raise _first(failures) from None

    async def _start_child(self, child: ChildProcess, ready: dict[str, asyncio.Event]) -> None:
        name = child.program.name
        await _wait_for_all(ready[each] for each in self._dependencies[name])
        try:
            child.set_state(ChildState.PREPARING)
            await child.program.prepare()
            await child.start()
        except DevError as failure:
            child.set_state(ChildState.FAILED, str(failure).partition(";")[0])
            raise
        ready[name].set()

    async def stop(self) -> None:
        stopped = {name: asyncio.Event() for name in self._children}
        async with asyncio.TaskGroup() as group:
            for child in self._children.values():
                group.create_task(self._stop_child(child, stopped))

    async def _stop_child(self, child: ChildProcess, stopped: dict[str, asyncio.Event]) -> None:
        name = child.program.name
        await _wait_for_all(stopped[other] for other, needed in self._dependencies.items() if name in needed)
        await child.stop()
        stopped[name].set()


def _dependencies(program: SupervisedProgram, all_: Sequence[SupervisedProgram]) -> list[str]:
    """The programs of this stack that must be ready before this one. Dependencies that were not chosen to
    run are ignored."""
    return [
        other.name for other in all_ if other.name in program.depends_on or program.name in other.required_by
    ]


async def _wait_for_all(events: Iterable[asyncio.Event]) -> None:
    for event in events:
        await event.wait()


def _first(failures: BaseExceptionGroup[DevError]) -> DevError:
    for failure in failures.exceptions:
        return _first(failure) if isinstance(failure, BaseExceptionGroup) else failure
    raise AssertionError("an exception group is never empty")
