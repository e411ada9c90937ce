"""A customer's server for webhooks: accepts deliveries over TLS, records them, and responds as a test
wants."""

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
class ReceivedRequest:
    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def delivery_id(self) -> str:
        return self.headers["api-delivery-id"]

    @property
    def type(self) -> str:
        return str(msgspec.json.decode(self.body)["type"])


def http_response(status: int = 204, body: bytes = b"", **headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Reason", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + body


Responder = Callable[[ReceivedRequest], Awaitable[bytes]]


async def accept(_: ReceivedRequest) -> bytes:
    return http_response()


def respond_with(response: bytes) -> Responder:
    async def respond(_: ReceivedRequest) -> bytes:
        return response

    return respond


async def never_respond(_: ReceivedRequest) -> bytes:
    await asyncio.Event().wait()
    return b""


@dataclass
class Receiver:
    """Listens on a random loopback address, so that receivers do not share an address."""

    host: str = field(
        default_factory=lambda: "127." + ".".join(str(1 + secrets.randbelow(250)) for _ in "123")
    )
    port: int = PORT
    respond: Responder = accept
    requests: list[ReceivedRequest] = field(default_factory=list)
    in_flight: int = 0
    max_in_flight: int = 0
    connections: int = 0
    _tasks: set["asyncio.Task[None]"] = field(default_factory=set)

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
            self.drop_connections()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    def drop_connections(self) -> None:
        """Close every open connection without a message."""
        for task in list(self._tasks):
            task.cancel()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        try:
            while (request := await read_request(reader)) is not None:
                self.requests.append(request)
                self.in_flight += 1
                self.max_in_flight = max(self.max_in_flight, self.in_flight)
                try:
                    response = await self.respond(request)
                finally:
                    self.in_flight -= 1
                writer.write(response)
                await writer.drain()
                if not response or b"connection: close" in response.lower():
                    break
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            self._tasks.discard(task)
            writer.close()


async def read_request(reader: asyncio.StreamReader) -> ReceivedRequest | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    first, *lines = head.decode().strip().split("\r\n")
    pairs = [line.split(": ", 1) for line in lines]
    headers = {name.lower(): value for name, value in pairs}
    assert len(headers) == len(pairs), "a header was sent twice"
    body = await reader.readexactly(int(headers["content-length"]))
    return ReceivedRequest(first.split(" ")[1], headers, body, time.monotonic())
