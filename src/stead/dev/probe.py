"""Small questions over loopback that readiness checks ask; no answer in time is an answer too."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable

from stead.dev.engine import LOOPBACK

PATIENCE = 2.0

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]


async def converse(port: int, talk: Talk, tls: ssl.SSLContext | None = None) -> bytes:
    """What `talk` read from the port; empty when nobody listens or the answer is late."""
    try:
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection(LOOPBACK, port, ssl=tls)
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


async def exactly(port: int, request: bytes, length: int) -> bytes:
    """The first so many bytes of the answer."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(request)
        return await reader.readexactly(length)

    return await converse(port, talk)


async def http_ok(port: int, path: str, tls: ssl.SSLContext | None = None) -> bool:
    return await http_body(port, path, tls) is not None


async def http_body(port: int, path: str, tls: ssl.SSLContext | None = None) -> bytes | None:
    """What is answered with 200; None for every other answer."""

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        # 1.0, so that the answer ends with the connection and is never in chunks.
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {LOOPBACK}:{port}\r\n\r\n".encode())
        return await reader.read()

    head, _, body = (await converse(port, talk, tls)).partition(b"\r\n\r\n")
    return body if head.split(b" ", 2)[1:2] == [b"200"] else None
