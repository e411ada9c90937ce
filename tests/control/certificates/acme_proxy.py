"""A proxy in front of the certificate authority: counts requests, refuses them or holds responses back."""

import asyncio
import contextlib
import ssl
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import msgspec

from stead.dev.engines.pebble import Pebble
from stead.dev.supervised_program import LOOPBACK

ORDER, CHALLENGE, FINALIZE, CERTIFICATE = "/order-plz", "/chalZ/", "/finalize-order/", "/certZ/"


def refusal(kind: str, detail: str, status: str, headers: str = "") -> bytes:
    """An error response in the format of ACME."""
    problem = msgspec.json.encode({"type": f"urn:ietf:params:acme:error:{kind}", "detail": detail})
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/problem+json\r\n{headers}"
    return f"{head}Content-Length: {len(problem)}\r\nConnection: close\r\n\r\n".encode() + problem


def _accepts(response: bytes) -> bool:
    return response.split(b" ", 2)[1].startswith(b"2")


@dataclass
class AcmeProxy:
    """The keys of `refuse` and the value of `hold_back` are the beginnings of paths."""

    pebble: Pebble
    port: int = 0
    passed: Counter[str] = field(default_factory=Counter)
    refuse: dict[str, bytes] = field(default_factory=dict)
    hold_back: str | None = None
    held_back: asyncio.Event = field(default_factory=asyncio.Event)
    _released: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def directory(self) -> str:
        return f"https://{LOOPBACK}:{self.port}/dir"

    @asynccontextmanager
    async def open(self) -> AsyncIterator["AcmeProxy"]:
        tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        tls.load_cert_chain(
            self.pebble.server_certificate, self.pebble.server_certificate.with_suffix(".key")
        )
        server = await asyncio.start_server(self._serve, LOOPBACK, 0, ssl=tls)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()

    def release_responses(self) -> None:
        """Send the responses that were held back, and hold back no more."""
        self.hold_back = None
        self._released.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, ssl.SSLError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split(b" ", 2)[1].decode()
            lines = [line for line in head.split(b"\r\n") if not line.lower().startswith(b"connection:")]
            sizes = [int(line[15:]) for line in lines if line.lower().startswith(b"content-length:")]
            body = await reader.readexactly(sizes[0]) if sizes else b""
            response = next((answer for start, answer in self.refuse.items() if path.startswith(start)), None)
            if response is None:
                response = await self._forward(
                    b"\r\n".join([lines[0], b"Connection: close", *lines[1:]]) + body
                )
                if _accepts(response):
                    self.passed[f"/{path.split('/')[1]}{'/' if path.count('/') > 1 else ''}"] += 1
            if self.hold_back is not None and path.startswith(self.hold_back) and _accepts(response):
                # The authority has processed the request, but the client does not learn of it. What it
                # refuses is sent on: it rejects some nonces at random, and the client repeats the request.
                self.held_back.set()
                await self._released.wait()
            writer.write(response)
            await writer.drain()
        writer.close()

    async def _forward(self, request: bytes) -> bytes:
        trusted = ssl.create_default_context(cafile=str(self.pebble.server_certificate))
        reader, writer = await asyncio.open_connection(LOOPBACK, self.pebble.port, ssl=trusted)
        try:
            writer.write(request)
            return await reader.read()
        finally:
            writer.close()
