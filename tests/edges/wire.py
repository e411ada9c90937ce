"""The one way from a node to NATS, which a test can cut without touching either end."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Literal

from stead.dev.supervised_program import LOOPBACK

CHUNK = 64 * 1024
Cut = Literal["silent", "refused"]


class Wire:
    """Cut in silence, it holds back what is said, as a network does that loses every packet. Cut so that
    both ends notice, it breaks every connection and takes no new one."""

    def __init__(self, onward: int) -> None:
        self._onward = onward
        self._whole = asyncio.Event()
        self._whole.set()
        self._refusing = False
        self._ends: set[asyncio.StreamWriter] = set()

    def cut(self, how: Cut) -> None:
        if how == "silent":
            self._whole.clear()
        else:
            self._refusing = True
            self._break()

    def mend(self) -> None:
        self._refusing = False
        self._whole.set()

    @asynccontextmanager
    async def laid(self, address: str) -> AsyncIterator[str]:
        """The `host:port` where NATS is found from now on."""
        server = await asyncio.start_server(self._carry, address, 0)
        try:
            yield f"{address}:{server.sockets[0].getsockname()[1]}"
        finally:
            server.close()
            self._break()

    def _break(self) -> None:
        for end in self._ends:
            end.transport.abort()

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        ends = {writer}
        self._ends.add(writer)
        try:
            await self._whole.wait()
            if self._refusing:
                return
            theirs, to_them = await asyncio.open_connection(LOOPBACK, self._onward)
            ends.add(to_them)
            self._ends.add(to_them)
            await asyncio.gather(self._pump(reader, to_them), self._pump(theirs, writer))
        except OSError:
            return
        finally:
            self._ends -= ends
            for end in ends:
                end.transport.abort()

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(CHUNK):
            await self._whole.wait()
            writer.write(data)
            await writer.drain()
        writer.close()
