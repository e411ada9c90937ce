"""The HTTP client for customers' servers: dials exactly what was checked, follows nothing, reads little.

It knows no proxy, no redirect, no cookie and no compression. A connection is kept for a short while, for the
host and port it was made for.
"""

import asyncio
import socket
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address
from time import monotonic
from typing import Any

import httptools
from msgspec import Struct

from stead.control.http.principal import Address
from stead.control.webhooks.urls import Target
from stead.shared.addresses import Guard

SECONDS = 15.0
"""For all of it: name, connection, TLS, answer."""
MOST_BYTES = 65536
"""Of an answer, headers included. What comes after is not waited for."""
KEPT_BYTES = 1024
IDLE_SECONDS = 15.0
LONGEST_SECONDS = 60.0
"""A name that resolves elsewhere is noticed at the latest after this."""
_LOOKUPS = 64


class Reply(Struct):
    status: int
    retry_after: str | None
    body: bytes
    """How it begins."""
    whole: bool = True
    """Whether nothing came after that."""


class NotDelivered(Exception):
    """There was no answer; the message says why, in words that may be shown."""


class _Dropped(Exception):
    """The connection ended before anything of the answer came."""


def tls_context() -> ssl.SSLContext:
    """Certificates are verified, against the system's authorities or those of SSL_CERT_FILE."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


class Client:
    def __init__(
        self, guard: Guard, *, context: ssl.SSLContext | None = None, seconds: float = SECONDS
    ) -> None:
        self._guard, self._seconds = guard, seconds
        self._context = context or tls_context()
        self._idle: dict[tuple[str, int], list[_Connection]] = {}
        # Names of slow servers are waited for in threads of their own, and in enough of them.
        self._lookups = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="webhook-names")

    async def post(self, target: Target, headers: bytes, body: bytes) -> Reply:
        """Send a body and wait for the answer; NotDelivered when there is none within the time."""
        request = b"POST %b HTTP/1.1\r\nHost: %b\r\n%bContent-Length: %d\r\n\r\n%b" % (
            target.path.encode(),
            target.authority.encode(),
            headers,
            len(body),
            body,
        )
        try:
            async with asyncio.timeout(self._seconds):
                return await self._exchange(target, request)
        except TimeoutError:
            raise NotDelivered("There was no answer in time.") from None

    async def get(self, target: Target, headers: bytes, *, most: int) -> Reply:
        """Ask for something of at most so many bytes, on a connection of its own."""
        request = b"GET %b HTTP/1.1\r\nHost: %b\r\n%bConnection: close\r\n\r\n" % (
            target.path.encode(),
            target.authority.encode(),
            headers,
        )
        connection = None
        try:
            async with asyncio.timeout(self._seconds):
                connection = await self._connect(target, most=most + MOST_BYTES, kept=most)
                return await connection.ask(request)
        except TimeoutError:
            raise NotDelivered("There was no answer in time.") from None
        except _Dropped:
            raise NotDelivered("The connection was closed without an answer.") from None
        finally:
            if connection is not None:
                connection.abort()

    async def close(self) -> None:
        for connections in self._idle.values():
            for connection in connections:
                connection.abort()
        self._idle.clear()
        self._lookups.shutdown(wait=False, cancel_futures=True)

    async def _exchange(self, target: Target, request: bytes) -> Reply:
        kept = self._kept(target)
        if kept is not None:
            try:
                return await self._ask(target, kept, request)
            except _Dropped:
                # It was closed at the other end while nobody looked: that says nothing about the request.
                pass
        try:
            return await self._ask(target, await self._connect(target), request)
        except _Dropped:
            raise NotDelivered("The connection was closed without an answer.") from None

    async def _ask(self, target: Target, connection: "_Connection", request: bytes) -> Reply:
        try:
            reply = await connection.ask(request)
        except BaseException:
            connection.abort()
            raise
        if connection.may_stay and monotonic() - connection.born < LONGEST_SECONDS:
            connection.idle_since = monotonic()
            self._idle.setdefault((target.host, target.port), []).append(connection)
        else:
            connection.abort()
        return reply

    def _kept(self, target: Target) -> "_Connection | None":
        """The connection used last. Those that were left idle for too long are closed."""
        place = target.host, target.port
        connections = self._idle.get(place)
        while connections:
            connection = connections.pop()
            if not connections:
                del self._idle[place]
            if connection.is_open and monotonic() - connection.idle_since < IDLE_SECONDS:
                return connection
            connection.abort()
        return None

    def forget_idle(self) -> None:
        """Close what nobody has used for a while."""
        now = monotonic()
        for place, connections in list(self._idle.items()):
            fresh = [each for each in connections if each.is_open and now - each.idle_since < IDLE_SECONDS]
            for each in set(connections) - set(fresh):
                each.abort()
            if fresh:
                self._idle[place] = fresh
            else:
                del self._idle[place]

    async def _connect(
        self, target: Target, *, most: int = MOST_BYTES, kept: int = KEPT_BYTES
    ) -> "_Connection":
        refused: NotDelivered | None = None
        for address in await self._addresses(target):
            try:
                return await self._dial(address, target, lambda: _Connection(most, kept))
            except NotDelivered as failure:
                refused = failure
        raise refused or NotDelivered("Its host name has no address.")

    async def _addresses(self, target: Target) -> list[Address]:
        """Every address of the host, all of them permitted: one bad among good ones is not dialled around."""
        found = [target.literal] if target.literal else await self._look_up(target.host, target.port)
        if not all(self._guard.permits(address) for address in found):
            raise NotDelivered("Its address is not public.")
        return found

    async def _look_up(self, host: str, port: int) -> list[Address]:
        loop = asyncio.get_running_loop()
        try:
            answers = await loop.run_in_executor(self._lookups, _resolve, host, port)
        except OSError:
            raise NotDelivered("Its host name could not be resolved.") from None
        return list(dict.fromkeys(ip_address(str(answer[4][0])) for answer in answers))

    async def _dial(
        self, address: Address, target: Target, protocol: "Callable[[], _Connection]"
    ) -> "_Connection":
        """The address as it was checked; the name is only for TLS, which must prove it."""
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(
                protocol,
                str(address),
                target.port,
                ssl=self._context,
                server_hostname=target.host,
                ssl_handshake_timeout=self._seconds,
            )
        except ssl.SSLCertVerificationError as failure:
            raise NotDelivered(f"TLS: {failure.verify_message}.") from None
        except ssl.SSLError:
            raise NotDelivered("TLS: the handshake failed.") from None
        except ConnectionRefusedError:
            raise NotDelivered("The connection was refused.") from None
        except (OSError, ConnectionError):
            raise NotDelivered("The connection failed.") from None
        return connection


def _resolve(host: str, port: int) -> list[Any]:
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


class _Connection(asyncio.Protocol):
    """One connection, one request at a time. The parser calls the `on_…` methods."""

    def __init__(self, most: int, kept: int) -> None:
        self._most, self._kept = most, kept
        self.born = self.idle_since = monotonic()
        self.may_stay = False
        self._transport: asyncio.Transport | None = None
        self._parser: Any = None
        self._answer: asyncio.Future[Reply] | None = None
        self._begin()

    def _begin(self) -> None:
        self._received = 0
        self._body = bytearray()
        self._whole = True
        self._retry_after: str | None = None
        self._status: int | None = None

    @property
    def is_open(self) -> bool:
        return self._transport is not None and not self._transport.is_closing()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    async def ask(self, request: bytes) -> Reply:
        transport = self._transport
        if transport is None or transport.is_closing():
            raise _Dropped
        self._begin()
        self.may_stay = False
        self._parser = httptools.HttpResponseParser(self)
        self._answer = asyncio.get_running_loop().create_future()
        transport.write(request)
        return await self._answer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            # Nobody asked. Whatever it is, the next answer on this connection could not be trusted.
            self.abort()
            return
        self._received += len(data)
        try:
            self._parser.feed_data(data)
        except (httptools.HttpParserError, httptools.HttpParserUpgrade):
            self._fail(NotDelivered("The answer was not HTTP."))
            self.abort()
            return
        if self._received > self._most and not self._answer.done():
            if self._status is None:
                self._fail(NotDelivered("The answer's headers are too long."))
            else:
                self._whole = False
                self._end()
            self.abort()

    def connection_lost(self, _: Exception | None) -> None:
        if self._answer is None or self._answer.done():
            return
        if self._status is not None:
            self._end()
        elif self._received:
            self._fail(NotDelivered("The answer ended before its headers did."))
        else:
            self._fail(_Dropped())

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"retry-after":
            self._retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:
            self._status = status

    def on_body(self, body: bytes) -> None:
        room = self._kept - len(self._body)
        self._body += body[:room]
        self._whole = self._whole and len(body) <= room

    def on_message_complete(self) -> None:
        if self._status is None:
            self._retry_after = None  # An interim answer: the real one follows.
            return
        self.may_stay = self._parser.should_keep_alive()
        self._end()

    def _end(self) -> None:
        if self._answer is not None and not self._answer.done() and self._status is not None:
            self._answer.set_result(Reply(self._status, self._retry_after, bytes(self._body), self._whole))

    def _fail(self, failure: Exception) -> None:
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(failure)
