"""Places for slow work, of which each tenant has a few only: the others do not wait for a busy one."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairPlaces:
    def __init__(self, in_all: int, per_tenant: int) -> None:
        self._in_all = asyncio.Semaphore(in_all)
        self._own: defaultdict[str, asyncio.Semaphore] = defaultdict(lambda: asyncio.Semaphore(per_tenant))

    @asynccontextmanager
    async def take(self, tenant: str) -> AsyncIterator[None]:
        # First its own: whoever waits for that takes no place from others.
        async with self._own[tenant], self._in_all:
            yield
