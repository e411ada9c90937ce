"""Places for slow work, of which each tenant has a few only. One that becomes free is for the tenant that had
one the longest ago: whoever comes for the first time does not wait for those who come again and again."""

import asyncio
import itertools
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

REMEMBERED = 1000
"""Of how many tenants it is known when they had a place."""


class FairPlaces:
    def __init__(self, in_all: int, per_tenant: int) -> None:
        self._free, self._per_tenant = in_all, per_tenant
        self._own: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()
        """Only of tenants that have a place or wait for one."""
        self._turns, self._last_turns = itertools.count(1), dict[str, int]()
        """The tenants that had a place, the latest one last."""
        self._waiting: dict[asyncio.Future[None], str] = {}

    @asynccontextmanager
    async def take(self, tenant: str) -> AsyncIterator[None]:
        own = self._own.setdefault(tenant, asyncio.Semaphore(self._per_tenant))
        # First its own: whoever waits for that takes no place from others.
        async with own:
            await self._wait_for_turn(tenant)
            try:
                yield
            finally:
                self._give_back()

    async def _wait_for_turn(self, tenant: str) -> None:
        turn = asyncio.get_running_loop().create_future()
        self._waiting[turn] = tenant
        self._grant()
        try:
            await turn
        except asyncio.CancelledError:
            if self._waiting.pop(turn, None) is None:
                # It was granted at the same moment.
                self._give_back()
            raise

    def _give_back(self) -> None:
        self._free += 1
        self._grant()

    def _grant(self) -> None:
        # One that was cancelled is still listed until its task runs.
        while self._free and (waiting := [turn for turn in self._waiting if not turn.done()]):
            turn = min(waiting, key=lambda each: self._last_turns.get(self._waiting[each], 0))
            self._note_turn(self._waiting.pop(turn))
            self._free -= 1
            turn.set_result(None)

    def _note_turn(self, tenant: str) -> None:
        self._last_turns.pop(tenant, None)
        self._last_turns[tenant] = next(self._turns)
        if len(self._last_turns) > REMEMBERED:
            del self._last_turns[next(iter(self._last_turns))]
