"""A small FastCGI application in the test process, with a handler for the responses."""

import asyncio
import struct
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.patience import time_limit

BEGIN, END, PARAMS, STDIN, STDOUT = 1, 3, 4, 5, 6


@dataclass(frozen=True)
class Request:
    params: dict[str, str]
    body: bytes

    @property
    def uri(self) -> str:
        return self.params["REQUEST_URI"]


@dataclass(frozen=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()

    def encoded(self) -> bytes:
        lines = [f"Status: {self.status}", "Content-Type: text/html; charset=utf-8"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + self.body


Handler = Callable[[Request], Awaitable[Reply]]


class Application:
    """Records its requests in `seen`; a test may replace `handler`."""

    def __init__(self, socket: Path, handler: Handler) -> None:
        self.socket, self.handler = socket, handler
        self.seen: list[Request] = []
        self._server: asyncio.Server | None = None
        self._changed = asyncio.Condition()

    async def start(self) -> None:
        self.socket.parent.mkdir(parents=True, exist_ok=True)
        self._server = await asyncio.start_unix_server(self._serve, self.socket)
        self.socket.chmod(0o666)

    async def asked(self, times: int) -> None:
        """Wait until there were this many requests in total."""
        async with time_limit(30), self._changed:
            await self._changed.wait_for(lambda: len(self.seen) >= times)

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        self.socket.unlink(missing_ok=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            number, request = await _read(reader)
            async with self._changed:
                self.seen.append(request)
                self._changed.notify_all()
            said = (await self.handler(request)).encoded()
            for at in range(0, len(said), 60_000):
                writer.write(_record(STDOUT, number, said[at : at + 60_000]))
            writer.write(_record(STDOUT, number, b"") + _record(END, number, bytes(8)))
            await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()


async def _read(reader: asyncio.StreamReader) -> tuple[int, Request]:
    params, body = b"", b""
    while True:
        _, kind, number, length, padding, _ = struct.unpack("!BBHHBB", await reader.readexactly(8))
        content = await reader.readexactly(length)
        await reader.readexactly(padding)
        if kind == PARAMS:
            params += content
        elif kind == STDIN:
            if not content:
                return number, Request(_pairs(params), body)
            body += content


def _record(kind: int, number: int, content: bytes) -> bytes:
    return struct.pack("!BBHHBB", 1, kind, number, len(content), 0, 0) + content


def _pairs(data: bytes) -> dict[str, str]:
    found, at = {}, 0

    def length() -> int:
        nonlocal at
        size = data[at]
        if size < 128:
            at += 1
            return size
        size = struct.unpack("!I", data[at : at + 4])[0] & 0x7FFFFFFF
        at += 4
        return int(size)

    while at < len(data):
        name, value = length(), length()
        found[data[at : at + name].decode("latin-1")] = data[at + name : at + name + value].decode("latin-1")
        at += name + value
    return found
