"""Who may ask for state at the same time: no environment and no node takes all places of a worker."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

AT_ONCE_OF_NODE, AT_ONCE_OF_ENVIRONMENT = 32, 8
MOST_WAITING = 512
"""Questions of one node, with those that are answered. More are dropped, as if they had not arrived."""


class _Line:
    def __init__(self, at_once: int) -> None:
        self.places = asyncio.Semaphore(at_once)
        self.waiting = 0


class Turns:
    """A node is known from its connection, so it cannot use the places of another one."""

    def __init__(self) -> None:
        self._nodes: dict[str, _Line] = {}
        self._environments: dict[tuple[str, str], _Line] = {}

    def has_room(self, node: str) -> bool:
        line = self._nodes.get(node)
        return line is None or line.waiting < MOST_WAITING

    @asynccontextmanager
    async def take(self, node: str, environment: str) -> AsyncIterator[None]:
        own = (node, environment)
        of_node = self._nodes.setdefault(node, _Line(AT_ONCE_OF_NODE))
        of_environment = self._environments.setdefault(own, _Line(AT_ONCE_OF_ENVIRONMENT))
        lines = (of_environment, of_node)
        for line in lines:
            line.waiting += 1
        try:
            async with of_environment.places, of_node.places:
                yield
        finally:
            for line in lines:
                line.waiting -= 1
            if not of_environment.waiting:
                self._environments.pop(own, None)
            if not of_node.waiting:
                self._nodes.pop(node, None)
