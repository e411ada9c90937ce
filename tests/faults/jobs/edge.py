"""The nginx of these tests seen from outside: held still, killed and visited.

While its processes are stopped nothing that it is told is applied, and a visitor waits; going on, it applies
all of it as if it had simply been slow.
"""

import asyncio
import math
import signal
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

import httpx
import psutil

from stead.dev.engines.nginx import Nginx
from stead.dev.running_stack import RunningStack

PATIENCE = 60.0
PAUSE = 0.1
STRANGE = "X-Stead-Reason"

Sight = tuple[int, str]
"""A status, and where it leads or why it is none of the site's own."""


class Edge:
    def __init__(self, stack: RunningStack) -> None:
        self._stack = stack
        self._held_until = 0.0

    @property
    def address(self) -> str:
        return self._stack[Nginx].address

    def hold(self) -> None:
        self._signal(signal.SIGSTOP)
        self._held_until = math.inf

    def go_on(self) -> None:
        self._signal(signal.SIGCONT)
        self._held_until = min(self._held_until, time.monotonic())

    def was_held_after(self, moment: float) -> bool:
        return self._held_until > moment

    async def restart(self) -> None:
        """As after a crash: whatever it knew is gone, and nothing is tidied up."""
        doomed = self._processes()
        await self._stack.kill(Nginx)
        for process in doomed:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        await self._stack.start(Nginx)

    def _signal(self, number: signal.Signals) -> None:
        for process in self._processes():
            with suppress(psutil.NoSuchProcess):
                process.send_signal(number)

    def _processes(self) -> list[psutil.Process]:
        master = self._stack.child(Nginx).status.process
        assert master is not None, "nginx does not run"
        first = psutil.Process(master.pid)
        return [first, *first.children(recursive=True)]


class Visitor:
    """Somebody who asks for one page."""

    def __init__(self, edge: Edge, host: str, path: str) -> None:
        self._edge, self._url = edge, f"http://{edge.address}{path}"
        self._headers = {"Host": host, "Connection": "close"}
        self.sights: set[Sight] = set()
        self.unanswered: list[str] = []

    async def look(self, client: httpx.AsyncClient) -> Sight:
        answer = await client.get(self._url, headers=self._headers)
        return answer.status_code, answer.headers.get("Location") or answer.headers.get(STRANGE) or ""

    async def stay(self, client: httpx.AsyncClient, pause: float) -> None:
        while True:
            began = time.monotonic()
            try:
                self.sights.add(await self.look(client))
            except httpx.TransportError as error:
                # Held for ten seconds, nginx finds that those it had just accepted took too long to ask.
                if not self._edge.was_held_after(began):
                    self.unanswered.append(repr(error))
            await asyncio.sleep(pause)


@asynccontextmanager
async def visited(*visitors: Visitor, pause: float = PAUSE) -> AsyncIterator[httpx.AsyncClient]:
    """All of them come again and again until the block is left."""
    async with httpx.AsyncClient(timeout=PATIENCE) as client:
        staying = [asyncio.create_task(visitor.stay(client, pause)) for visitor in visitors]
        try:
            yield client
        finally:
            for task in staying:
                task.cancel()
            await asyncio.gather(*staying, return_exceptions=True)
