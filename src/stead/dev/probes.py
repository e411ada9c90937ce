"""Small requests over loopback for readiness checks. A late or missing reply counts as not ready."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path

from stead.dev.supervised_program import LOOPBACK

TIMEOUT = 2.0

Exchange = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[bytes]]


async def connect(port: int, exchange: Exchange, tls: ssl.SSLContext | None = None) -> bytes:
    """Connects and returns the result of `exchange`; empty if the connection fails or times out."""
    try:
        async with asyncio.timeout(TIMEOUT):
            reader, writer = await asyncio.open_connection(LOOPBACK, port, ssl=tls)
            try:
                return await exchange(reader, writer)
            finally:
                writer.close()
    except (OSError, TimeoutError, asyncio.IncompleteReadError):
        return b""


async def read_line(port: int, request: bytes) -> bytes:
    """Sends the request and returns the first line of the reply."""

    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(request)
        return await reader.readline()

    return await connect(port, exchange)


async def read_bytes(port: int, request: bytes, length: int) -> bytes:
    """Sends the request and returns the first bytes of the reply."""

    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        writer.write(request)
        return await reader.readexactly(length)

    return await connect(port, exchange)


async def http_ok(port: int, path: str, tls: ssl.SSLContext | None = None) -> bool:
    return await http_get(port, path, tls) is not None


async def http_get(port: int, path: str, tls: ssl.SSLContext | None = None) -> bytes | None:
    """Returns the body of a response with status 200, and None for any other response."""

    async def exchange(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        # With HTTP/1.0 the response ends with the connection and is never chunked.
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {LOOPBACK}:{port}\r\n\r\n".encode())
        return await reader.read()

    head, _, body = (await connect(port, exchange, tls)).partition(b"\r\n\r\n")
    return body if head.split(b" ", 2)[1:2] == [b"200"] else None


async def accepts_unix(path: Path) -> bool:
    """Whether somebody listens on the socket."""
    try:
        async with asyncio.timeout(TIMEOUT):
            _, writer = await asyncio.open_unix_connection(str(path))
    except (OSError, TimeoutError):
        return False
    writer.close()
    return True
