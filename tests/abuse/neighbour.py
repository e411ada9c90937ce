"""A tenant who does nothing unusual, and how much longer its requests take while somebody attacks."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

PAUSE = 0.02
USUAL_REQUESTS = 100


def percentile_99(seconds: list[float]) -> float:
    return sorted(seconds)[int(len(seconds) * 0.99)]


@dataclass
class Neighbour:
    """`request` is one request of the neighbour; it raises if the response is not the usual one."""

    request: Callable[[], Awaitable[None]]
    usual: list[float] = field(default_factory=list)
    attacked: list[float] = field(default_factory=list)

    async def live_alone(self, requests: int = USUAL_REQUESTS) -> None:
        """Measure what its requests usually take."""
        for _ in range(requests):
            await self._measure(self.usual)

    @asynccontextmanager
    async def living_beside(self) -> AsyncIterator[None]:
        """Keep sending its requests while the attack in the body of this block goes on."""
        task = asyncio.create_task(self._live())
        try:
            yield
        finally:
            task.cancel()
            (outcome,) = await asyncio.gather(task, return_exceptions=True)
        if isinstance(outcome, Exception):
            raise outcome

    async def send_at_least(self, requests: int) -> None:
        """Wait until it has sent so many requests during the attack."""
        while len(self.attacked) < requests:  # noqa: ASYNC110 - requests announce nothing
            await asyncio.sleep(PAUSE)

    @property
    def ratio(self) -> float:
        return percentile_99(self.attacked) / percentile_99(self.usual)

    def figure(self, attack: str) -> str:
        return (
            f"{attack}: p99 of the neighbour {1000 * percentile_99(self.usual):.0f} ms alone,"
            f" {1000 * percentile_99(self.attacked):.0f} ms beside it ({self.ratio:.1f} times),"
            f" {len(self.attacked)} requests, none failed; slowest {1000 * max(self.attacked):.0f} ms"
        )

    async def _live(self) -> None:
        while True:
            await self._measure(self.attacked)

    async def _measure(self, seconds: list[float]) -> None:
        began = time.perf_counter()
        await self.request()
        seconds.append(time.perf_counter() - began)
        await asyncio.sleep(PAUSE)
