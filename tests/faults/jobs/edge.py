"""The nginx of these tests, which they stop, kill and send requests to.

While its processes are stopped it applies nothing that is announced, and visitors wait. When they continue,
it applies everything as if it had been slow.
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
from tests.faults.jobs.scenarios import Sight
from tests.patience import slowdown

ANSWER_SECONDS = 60.0
PAUSE_SECONDS = 0.1
REASON = "X-Stead-Reason"


class Edge:
    def __init__(self, stack: RunningStack) -> None:
        self._stack = stack
        self._stopped_until = 0.0

    @property
    def address(self) -> str:
        return self._stack[Nginx].address

    def stop(self) -> None:
        """Stop its processes, without ending them."""
        self._signal(signal.SIGSTOP)
        self._stopped_until = math.inf

    def resume(self) -> None:
        self._signal(signal.SIGCONT)
        self._stopped_until = min(self._stopped_until, time.monotonic())

    def was_stopped_after(self, moment: float) -> bool:
        return self._stopped_until > moment

    async def crash(self) -> None:
        """Kill it and start it again. It has lost everything that it knew."""
        processes = self._processes()
        await self._stack.kill(Nginx)
        for process in processes:
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
    """Requests one page."""

    def __init__(self, edge: Edge, host: str, path: str) -> None:
        self._edge, self._url = edge, f"http://{edge.address}{path}"
        self._headers = {"Host": host, "Connection": "close"}
        self.sights: set[Sight] = set()
        self.unanswered: list[str] = []

    async def visit(self, client: httpx.AsyncClient) -> Sight:
        answer = await client.get(self._url, headers=self._headers)
        return answer.status_code, answer.headers.get("Location") or answer.headers.get(REASON) or ""

    async def visit_repeatedly(self, client: httpx.AsyncClient, pause: float) -> None:
        while True:
            began = time.monotonic()
            try:
                self.sights.add(await self.visit(client))
            except httpx.TransportError as error:
                # After it was stopped for ten seconds, nginx closes connections that it had just accepted.
                if not self._edge.was_stopped_after(began):
                    self.unanswered.append(repr(error))
            await asyncio.sleep(pause)


@asynccontextmanager
async def visiting(*visitors: Visitor, pause: float = PAUSE_SECONDS) -> AsyncIterator[httpx.AsyncClient]:
    """All visitors request their pages again and again until the block ends."""
    async with httpx.AsyncClient(timeout=ANSWER_SECONDS * slowdown()) as client:
        tasks = [asyncio.create_task(visitor.visit_repeatedly(client, pause)) for visitor in visitors]
        try:
            yield client
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
