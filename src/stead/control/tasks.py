"""Small chores of a process, each repeated for as long as it runs."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from stead.control.engines.postgres import UNREACHABLE
from stead.control.engines.redis import RedisDown

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class Chore:
    name: str
    seconds: float
    do: Callable[[], Awaitable[object]]


class Housekeeping:
    def __init__(self, chores: list[Chore]) -> None:
        self._chores = chores
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._tasks = [asyncio.create_task(_repeat(chore)) for chore in self._chores]

    async def stop(self) -> None:
        """A cancellation that meets an answer can get lost in a library: it is repeated until all ended."""
        left = set(self._tasks)
        while left:
            for task in left:
                task.cancel()
            _, left = await asyncio.wait(left, timeout=1)


async def _repeat(chore: Chore) -> None:
    while True:
        await asyncio.sleep(chore.seconds)
        try:
            await chore.do()
        except (*UNREACHABLE, RedisDown) as error:
            log.warning("chore.postponed", chore=chore.name, reason=type(error).__name__)
        except Exception as error:  # noqa: BLE001 - a chore that failed once must still be tried again
            log.error("chore.failed", chore=chore.name, error=type(error).__name__)
