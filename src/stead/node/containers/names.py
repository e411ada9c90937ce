"""Resolves names for containers, in threads of their own: a slow name server must not hold up the agent,
whose heartbeats use the threads of the event loop."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

from stead.shared.address_policy import Address

Resolve = Callable[[str, int], Awaitable[list[Address]]]

THREADS = 64
LOOKUPS_AT_ONCE = 4
"""For one build, so that its lookups do not take all threads."""
MAX_NAMES = 512

_threads = ThreadPoolExecutor(THREADS, "resolve")


async def resolve(host: str, port: int) -> list[Address]:
    loop = asyncio.get_running_loop()
    found = await loop.run_in_executor(_threads, _look_up, host, port)
    return [ip_address(address) for address in found]


def _look_up(host: str, port: int) -> list[str]:
    return [str(each[0]) for *_, each in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]


class PinnedNames:
    """The names of one build. Each is resolved once, so it has the same addresses until the build ends."""

    def __init__(self, look_up: Resolve = resolve) -> None:
        self._look_up = look_up
        self._pinned: dict[str, list[Address]] = {}
        self._at_once = asyncio.Semaphore(LOOKUPS_AT_ONCE)

    async def __call__(self, host: str, port: int) -> list[Address]:
        name = host.rstrip(".").lower()
        async with self._at_once:
            if name not in self._pinned:
                if len(self._pinned) >= MAX_NAMES:
                    raise OSError("the build has used too many names")
                self._pinned[name] = await self._look_up(name, port)
        return self._pinned[name]


class LimitedNames:
    """The names of one site: only a few are looked up at the same time, so that its lookups do not take all
    threads. A lookup has its thread until it ends, also if nobody waits for it any more."""

    def __init__(self, look_up: Resolve = resolve) -> None:
        self._look_up = look_up
        self._at_once = asyncio.Semaphore(LOOKUPS_AT_ONCE)

    async def __call__(self, host: str, port: int) -> list[Address]:
        await self._at_once.acquire()
        looking = asyncio.ensure_future(self._look_up(host, port))
        looking.add_done_callback(self._finish)
        return await asyncio.shield(looking)

    def _finish(self, looking: asyncio.Future[list[Address]]) -> None:
        self._at_once.release()
        if not looking.cancelled():
            # Whoever still waits gets it.
            looking.exception()
