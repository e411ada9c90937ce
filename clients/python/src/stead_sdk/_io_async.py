"""The input and output of the asyncio client. `_io_sync` has the same for threads."""

import asyncio
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import ssl

MAX_LINE = 65536
sleep = asyncio.sleep


class Stream:
    """A connection. Reading after the end returns nothing; all other failures are `OSError`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, host: str, port: int, timeout: float) -> "Stream":
        async with asyncio.timeout(timeout):
            return cls(*await asyncio.open_connection(host, port, limit=MAX_LINE))

    async def start_tls(self, context: "ssl.SSLContext", host: str, timeout: float) -> None:
        if self._reader._buffer:  # type: ignore[attr-defined]
            # What a proxy has sent already must not be taken for a part of the encrypted response.
            raise ConnectionError("the proxy has sent more than its answer")
        async with asyncio.timeout(timeout):
            await self._writer.start_tls(context, server_hostname=host)

    async def write(self, data: bytes, timeout: float) -> None:
        self._writer.write(data)
        async with asyncio.timeout(timeout):
            await self._writer.drain()

    async def readline(self, timeout: float) -> bytes:
        async with asyncio.timeout(timeout):
            try:
                return await self._reader.readline()
            except ValueError:
                raise ConnectionError("a line of the response is too long") from None

    async def read(self, size: int, timeout: float) -> bytes:
        """At most `size` bytes, as soon as there are some."""
        async with asyncio.timeout(timeout):
            return await self._reader.read(size)

    def is_idle(self) -> bool:
        """Whether the server has not closed the connection."""
        return not self._reader.at_eof() and not self._writer.is_closing()

    def close(self) -> None:
        self._writer.close()
