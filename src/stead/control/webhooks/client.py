"""The HTTPS client for customers' servers. It connects only to addresses that were checked.

It does not support proxies, redirects, cookies or compression. Idle connections are kept for a short time and
reused for the same host and port.
"""

import asyncio
import ssl
from collections.abc import Callable
from time import monotonic

from stead.control.engines.dns import NameUnresolved, Resolver
from stead.control.engines.transaction_guard import require_no_transaction
from stead.control.http.principal import Address
from stead.control.webhooks.connection import ConnectionDropped, HttpConnection, RequestFailed, Response
from stead.control.webhooks.urls import Target
from stead.shared.address_policy import AddressPolicy

REQUEST_SECONDS = 15.0
"""The limit for a whole request: name resolution, connection, TLS and response."""
MAX_RESPONSE_BYTES = 65536
"""Headers included. The rest of a longer response is not read."""
KEPT_BODY_BYTES = 1024
IDLE_SECONDS = 15.0
MAX_CONNECTION_SECONDS = 60.0
"""Also the longest time until a changed DNS record takes effect."""


def tls_context() -> ssl.SSLContext:
    """Verify certificates against the system's authorities or those in SSL_CERT_FILE."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    return context


class HttpsClient:
    def __init__(
        self,
        guard: AddressPolicy,
        *,
        context: ssl.SSLContext | None = None,
        seconds: float = REQUEST_SECONDS,
        resolver: Resolver | None = None,
    ) -> None:
        self._guard, self._seconds = guard, seconds
        self._context = context or tls_context()
        self._idle: dict[tuple[str, int], list[HttpConnection]] = {}
        self._resolver = resolver or Resolver()

    async def post(self, target: Target, headers: bytes, body: bytes) -> Response:
        """Send a body and return the response. Raise RequestFailed if none arrives in time."""
        request = b"POST %b HTTP/1.1\r\nHost: %b\r\n%bContent-Length: %d\r\n\r\n%b" % (
            target.path.encode(),
            target.authority.encode(),
            headers,
            len(body),
            body,
        )
        try:
            async with asyncio.timeout(self._seconds):
                return await self._request(target, request)
        except TimeoutError:
            raise RequestFailed("There was no answer in time.") from None

    async def get(self, target: Target, headers: bytes, *, max_bytes: int) -> Response:
        """Fetch a body of at most `max_bytes`, on a connection that is not reused."""
        return await self.send("GET", target, headers, max_bytes=max_bytes)

    async def send(
        self, method: str, target: Target, headers: bytes, body: bytes = b"", *, max_bytes: int
    ) -> Response:
        """Send a request and read a body of at most `max_bytes`, on a connection that is not reused."""
        require_no_transaction("another server")
        length = b"Content-Length: %d\r\n" % len(body) if body or method != "GET" else b""
        request = b"%b %b HTTP/1.1\r\nHost: %b\r\n%b%bConnection: close\r\n\r\n%b" % (
            method.encode(),
            target.path.encode(),
            target.authority.encode(),
            headers,
            length,
            body,
        )
        connection = None
        try:
            async with asyncio.timeout(self._seconds):
                connection = await self._connect(
                    target, max_bytes=max_bytes + MAX_RESPONSE_BYTES, kept_bytes=max_bytes
                )
                return await connection.request(request)
        except TimeoutError:
            raise RequestFailed("There was no answer in time.") from None
        except ConnectionDropped:
            raise RequestFailed("The connection was closed without an answer.") from None
        finally:
            if connection is not None:
                connection.abort()

    async def close(self) -> None:
        for connections in self._idle.values():
            for connection in connections:
                connection.abort()
        self._idle.clear()

    def close_idle(self) -> None:
        """Close connections that have been idle for too long."""
        now = monotonic()
        for place, connections in list(self._idle.items()):
            fresh = [each for each in connections if each.is_open and now - each.idle_since < IDLE_SECONDS]
            for each in set(connections) - set(fresh):
                each.abort()
            if fresh:
                self._idle[place] = fresh
            else:
                del self._idle[place]

    async def _request(self, target: Target, request: bytes) -> Response:
        require_no_transaction("another server")
        idle = self._take_idle(target)
        if idle is not None:
            try:
                return await self._request_on(idle, target, request)
            except ConnectionDropped:
                # The server closed the idle connection. This is not a failure of the request.
                pass
        try:
            return await self._request_on(await self._connect(target), target, request)
        except ConnectionDropped:
            raise RequestFailed("The connection was closed without an answer.") from None

    async def _request_on(self, connection: HttpConnection, target: Target, request: bytes) -> Response:
        try:
            response = await connection.request(request)
        except BaseException:
            connection.abort()
            raise
        if connection.reusable and monotonic() - connection.opened_at < MAX_CONNECTION_SECONDS:
            connection.idle_since = monotonic()
            self._idle.setdefault((target.host, target.port), []).append(connection)
        else:
            connection.abort()
        return response

    def _take_idle(self, target: Target) -> HttpConnection | None:
        """Return the most recently used idle connection. Close those that were idle for too long."""
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

    async def _connect(
        self, target: Target, *, max_bytes: int = MAX_RESPONSE_BYTES, kept_bytes: int = KEPT_BODY_BYTES
    ) -> HttpConnection:
        last_failure: RequestFailed | None = None
        for address in await self._addresses(target):
            try:
                return await self._dial(address, target, lambda: HttpConnection(max_bytes, kept_bytes))
            except RequestFailed as failure:
                last_failure = failure
        raise last_failure or RequestFailed("Its host name has no address.")

    async def _addresses(self, target: Target) -> list[Address]:
        """Return the addresses of the host. If one of them is not permitted, none is used."""
        found = [target.literal] if target.literal else await self._resolve(target.host)
        if not all(self._guard.permits(address) for address in found):
            raise RequestFailed("Its address is not public.")
        return found

    async def _resolve(self, host: str) -> list[Address]:
        try:
            return await self._resolver.addresses(host)
        except NameUnresolved:
            raise RequestFailed("Its host name could not be resolved.") from None

    async def _dial(
        self, address: Address, target: Target, protocol: Callable[[], HttpConnection]
    ) -> HttpConnection:
        """Connect to the address that was checked. The host name is used only for TLS verification."""
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
            raise RequestFailed(f"TLS: {failure.verify_message}.") from None
        except ssl.SSLError:
            raise RequestFailed("TLS: the handshake failed.") from None
        except ConnectionRefusedError:
            raise RequestFailed("The connection was refused.") from None
        except (OSError, ConnectionError):
            raise RequestFailed("The connection failed.") from None
        return connection
