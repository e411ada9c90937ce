"""Brings the children up in the order of their needs, side by side where they can be, and down in reverse."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from stead.dev.child import Changed, Child, Condition, State
from stead.dev.engine import DevError, Engine


class Supervisor:
    def __init__(self, engines: Sequence[Engine], logs: Path, changed: Changed) -> None:
        self._children = {
            engine.name: Child(engine, logs / f"{engine.name}.log", changed) for engine in engines
        }

    @property
    def conditions(self) -> list[Condition]:
        return [child.condition for child in self._children.values()]

    def child(self, name: str) -> Child:
        return self._children[name]

    async def identify(self) -> None:
        """Asks every engine for its version, so that people can see it."""
        children = list(self._children.values())
        versions = await asyncio.gather(*(child.engine.version() for child in children))
        for child, version in zip(children, versions, strict=True):
            child.condition.version = version

    async def start(self) -> None:
        """Returns when every one of them serves. After a failure the caller must stop the rest."""
        for child in self._children.values():
            child.engine.program()
        up = {name: asyncio.Event() for name in self._children}
        try:
            async with asyncio.TaskGroup() as group:
                for child in self._children.values():
                    group.create_task(self._bring_up(child, up))
        except* DevError as failures:
            raise _first(failures) from None

    async def _bring_up(self, child: Child, up: dict[str, asyncio.Event]) -> None:
        await _all(up[need] for need in child.engine.needs if need in up)
        try:
            child.mark(State.PREPARING)
            await child.engine.prepare()
            await child.start()
        except DevError as failure:
            child.mark(State.FAILED, str(failure).partition(";")[0])
            raise
        up[child.engine.name].set()

    async def stop(self) -> None:
        down = {name: asyncio.Event() for name in self._children}
        async with asyncio.TaskGroup() as group:
            for child in self._children.values():
                group.create_task(self._bring_down(child, down))

    async def _bring_down(self, child: Child, down: dict[str, asyncio.Event]) -> None:
        name = child.engine.name
        await _all(down[other] for other, it in self._children.items() if name in it.engine.needs)
        await child.stop()
        down[name].set()


async def _all(events: Iterable[asyncio.Event]) -> None:
    for event in events:
        await event.wait()


def _first(failures: BaseExceptionGroup[DevError]) -> DevError:
    for failure in failures.exceptions:
        return _first(failure) if isinstance(failure, BaseExceptionGroup) else failure
    raise AssertionError("an exception group is never empty")
