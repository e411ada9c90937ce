"""How much memory and time of the host the messages of functions take. The host is one process for all sites
of a node: no site may fill its memory, or keep it busy with receiving."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stead.shared.token_bucket import TokenBuckets

MOST_BYTES, MOST_BYTES_OF_SITE = 256 << 20, 64 << 20
SMALL_BYTES = 64 << 10
"""Messages of this size need no room."""
BYTES_PER_SECOND, BYTES_BURST = 16 << 20, 64 << 20
"""Of large messages of one site. More wait."""
WAIT_SECONDS = 0.05


class BodyRoom:
    def __init__(self, total: int = MOST_BYTES, each: int = MOST_BYTES_OF_SITE) -> None:
        self._total, self._each = total, each
        self._used: Counter[str] = Counter()
        self._sum = 0
        self._freed = asyncio.Event()
        self._received = TokenBuckets(BYTES_PER_SECOND, BYTES_BURST)

    def take(self, site: str, size: int) -> bool:
        """Whether there was room for so many bytes."""
        if self._sum + size > self._total or self._used[site] + size > self._each:
            return False
        self._used[site] += size
        self._sum += size
        return True

    def give(self, site: str, size: int) -> None:
        self._used[site] -= size
        self._sum -= size
        if self._used[site] <= 0:
            del self._used[site]
        self._freed.set()

    @asynccontextmanager
    async def hold(self, site: str, size: int) -> AsyncIterator[None]:
        """Wait until there is room, and the site has not received too much lately. The function waits, too:
        the time of its request is limited."""
        if size <= SMALL_BYTES:
            yield
            return
        while not self._received.take(site):  # noqa: ASYNC110 - time passes, nobody sets an event
            await asyncio.sleep(WAIT_SECONDS)
        self._received.charge(site, size)
        while not self.take(site, size):
            self._freed.clear()
            await self._freed.wait()
        try:
            yield
        finally:
            self.give(site, size)


class HeldBody:
    """The room that one answer takes, until it was passed on."""

    def __init__(self, room: BodyRoom, site: str) -> None:
        self._room, self._site = room, site
        self.size = 0

    def grow(self, size: int) -> bool:
        if not self._room.take(self._site, size):
            return False
        self.size += size
        return True

    def release(self) -> None:
        self._room.give(self._site, self.size)
        self.size = 0
