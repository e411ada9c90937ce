"""The drivers of a node, and the handlers that they declare for each kind of work."""

from collections.abc import Mapping, Sequence
from typing import Any

from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.protocol.commands import DriverSetName
from stead.protocol.questions import NO_ENVIRONMENT, Question
from stead.protocol.work.base import NodeWork, tag_of
from stead.protocol.work.builds import Build
from stead.protocol.work.hosting import EnsureEnvironment
from stead.protocol.work.kinds import WorkResult


class DriverSet:
    def __init__(self, drivers: Sequence[Driver]) -> None:
        self.drivers = tuple(drivers)
        self._handlers: dict[tuple[type[NodeWork], str], list[Handler[Any]]] = {}
        for handler in (handler for driver in drivers for handler in driver.handlers):
            for variant in handler.variants:
                self._handlers.setdefault((handler.kind, variant), []).append(handler)
        for (kind, variant), handlers in self._handlers.items():
            if kind.result_type is not None and len(handlers) > 1:
                raise TypeError(f"{tag_of(kind)} {variant} has more than one driver and only one result")

    @property
    def work(self) -> tuple[str, ...]:
        """The tags of the kinds of work that the drivers support."""
        return tuple(sorted({tag_of(kind) for kind, _ in self._handlers}))

    @property
    def runtimes(self) -> tuple[str, ...]:
        return self._variants(EnsureEnvironment)

    @property
    def builders(self) -> tuple[str, ...]:
        return self._variants(Build)

    @property
    def room_mb(self) -> int | None:
        rooms = [room for driver in self.drivers if (room := driver.room_mb()) is not None]
        return min(rooms, default=None)

    async def perform(self, work: NodeWork, task: Assignment) -> WorkResult | None:
        """Work that several drivers support is done by all of them: an environment to be removed may be of
        any runtime."""
        handlers = self._handlers.get((type(work), work.variant))
        if not handlers:
            wanted = f"{tag_of(type(work))} {work.variant}".rstrip()
            raise Refusal(work.unsupported_code, f"this node has no driver for {wanted}")
        result: WorkResult | None = None
        for handler in handlers:
            result = await handler.handle(task, work)
        if not isinstance(result, work.result_type or type(None)):
            raise TypeError(f"{tag_of(type(work))} returned {type(result).__name__}")
        return result

    async def answer(self, question: Question) -> bytes:
        """Raises Refusal."""
        for driver in self.drivers:
            answer = await driver.answer(question)
            if answer is not None:
                return answer
        raise Refusal(NO_ENVIRONMENT, "the environment is not on this node")

    def _variants(self, kind: type[NodeWork]) -> tuple[str, ...]:
        return tuple(sorted(variant for each, variant in self._handlers if each is kind))


DriverSets = Mapping[DriverSetName, DriverSet]
