"""Small questions over loopback that readiness checks ask; no answer in time is an answer too."""

import asyncio
from collections.abc import Awaitable, Callable

from stead.dev.engine import LOOPBACK

PATIENCE = 2.0

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]


async def converse(port: int, talk: Talk) -> bytes:
    """What `talk` read from the port; empty when nobody listens or the answer is late."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(LOOPBACK, port)
            try:
                return await talk(reader, writer)
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return b""


async def line(port: int, request: bytes) -> bytes:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(request)
        return await reader.readline()

    return await converse(port, talk)


async def http_ok(port: int, path: str) -> bool:
    head = f"GET {path} HTTP/1.1\r\nHost: {LOOPBACK}:{port}\r\nConnection: close\r\n\r\n"
    status = (await line(port, head.encode())).split(b" ", 2)
    return len(status) > 1 and status[1] == b"200"
