"""A customer's server: takes deliveries over TLS, keeps them, answers as it is told."""

import asyncio
import secrets
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

PORT = 8443


@dataclass(frozen=True)
class Received:
    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def delivery(self) -> str:
        return self.headers["api-delivery-id"]

    @property
    def type(self) -> str:
        return str(msgspec.json.decode(self.body)["type"])


def answer(status: int = 204, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


Behaviour = Callable[[Received], Awaitable[bytes]]


async def take(_: Received) -> bytes:
    return answer()


def saying(said: bytes) -> Behaviour:
    async def behave(_: Received) -> bytes:
        return said

    return behave


async def never(_: Received) -> bytes:
    await asyncio.Event().wait()
    return b""


@dataclass
class Receiver:
    """Listens on an address of the loopback that nobody else has."""

    host: str = field(
        default_factory=lambda: "127." + ".".join(str(1 + secrets.randbelow(250)) for _ in "123")
    )
    port: int = PORT
    behave: Behaviour = take
    got: list[Received] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    connections: int = 0

    @property
    def url(self) -> str:
        return f"https://{self.host}:{self.port}/hook"

    @asynccontextmanager
    async def open(self, context: ssl.SSLContext) -> AsyncIterator["Receiver"]:
        server = await asyncio.start_server(self._serve, self.host, self.port, ssl=context)
        try:
            yield self
        finally:
            server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (received := await read_request(reader)) is not None:
                self.got.append(received)
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
                try:
                    said = await self.behave(received)
                finally:
                    self.at_once -= 1
                writer.write(said)
                await writer.drain()
                if not said or b"connection: close" in said.lower():
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()


async def read_request(reader: asyncio.StreamReader) -> Received | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode().strip().split("\r\n")
    pairs = [line.split(": ", 1) for line in lines]
    headers = {name.lower(): value for name, value in pairs}
    assert len(headers) == len(pairs), "a header was sent twice"
    body = await reader.readexactly(int(headers["content-length"]))
    return Received(first.split(" ")[1], headers, body, time.monotonic())
