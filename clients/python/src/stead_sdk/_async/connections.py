"""Sends requests over HTTP/1.1 and reads the responses. Idle connections are kept and used again."""

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from stead_sdk._addresses import Origin, Proxy, proxy_for, tls_context
from stead_sdk._io_async import Stream
from stead_sdk.errors import APIConnectionError, APITimeoutError, ConfigurationError

if TYPE_CHECKING:
    import ssl

_MOST_IDLE = 10
_MOST_HEADERS = 200
_MOST_BYTES = 64 * 1024 * 1024
_LONGEST_LINE = 8 * 1024 * 1024
_PART = 65536
_HEXADECIMAL = b"0123456789abcdefABCDEF"


class NotSent(APIConnectionError):
    """The server could not be reached, so the request had no effect."""


class Timeouts(NamedTuple):
    """In seconds: to connect, and between two parts of a response."""

    connect: float = 10.0
    read: float = 60.0


class Response(NamedTuple):
    """A complete response."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def request_id(self) -> str | None:
        return self.headers.get("x-request-id")

    def json(self) -> Any:
        """The body as JSON, or None if it is none: a proxy may have sent a page."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class AsyncResponseStream:
    """A response whose body is read line by line. Close it when you are done."""

    def __init__(self, status: int, headers: Mapping[str, str], connection: "_AsyncConnection") -> None:
        self.status, self.headers = status, headers
        self._connection = connection

    async def lines(self) -> AsyncIterator[bytes]:
        """The lines of the body, until it ends. A connection that breaks raises `APIConnectionError`."""
        pending = b""
        async for part in self._connection.parts():
            *complete, pending = (pending + part).split(b"\n")
            for line in complete:
                yield line
            if len(pending) > _LONGEST_LINE:
                raise APIConnectionError("A line of the response is too long.")

    def parts(self) -> AsyncIterator[bytes]:
        """The body as it arrives."""
        return self._connection.parts()

    async def read(self) -> Response:
        return Response(self.status, self.headers, await self._connection.read_all())

    def close(self) -> None:
        self._connection.close()


class AsyncConnections:
    def __init__(self, timeouts: Timeouts, ca_file: str | None = None) -> None:
        self.timeouts = timeouts
        self._ca_file = ca_file
        self._tls: ssl.SSLContext | None = None
        self._idle: dict[Origin, list[_AsyncConnection]] = {}

    async def send(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes] = b"",
        *,
        timeouts: Timeouts | None = None,
    ) -> Response:
        """Send a request, and read its whole response. The headers tell the length of a body in parts."""
        connection, status, found = await self._start(method, url, headers, body, timeouts or self.timeouts)
        try:
            whole = await connection.read_all()
        except BaseException:
            connection.close()
            raise
        self._keep(connection)
        return Response(status, found, whole)

    async def stream(
        self, method: str, url: str, headers: Mapping[str, str], *, timeouts: Timeouts | None = None
    ) -> AsyncResponseStream:
        """Send a request, and return when the response begins."""
        connection, status, found = await self._start(method, url, headers, b"", timeouts or self.timeouts)
        return AsyncResponseStream(status, found, connection)

    def close(self) -> None:
        for connections in self._idle.values():
            while connections:
                connections.pop().close()

    async def _start(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str],
        body: bytes | Iterable[bytes],
        timeouts: Timeouts,
    ) -> "tuple[_AsyncConnection, int, dict[str, str]]":
        origin, target = Origin.of(url)
        connection = self._take(origin) or await self._connect(origin, timeouts)
        connection.timeouts = timeouts
        try:
            await connection.write(method, target, headers, body)
            status, found = await connection.read_head(method)
        except BaseException:
            connection.close()
            raise
        return connection, status, found

    def _take(self, origin: Origin) -> "_AsyncConnection | None":
        idle = self._idle.get(origin, [])
        while idle:
            connection = idle.pop()
            if connection.stream.is_idle():
                return connection
            connection.close()
        return None

    def _keep(self, connection: "_AsyncConnection") -> None:
        idle = self._idle.setdefault(connection.origin, [])
        if connection.can_be_kept and len(idle) < _MOST_IDLE:
            idle.append(connection)
        else:
            connection.close()

    async def _connect(self, origin: Origin, timeouts: Timeouts) -> "_AsyncConnection":
        proxy = proxy_for(origin)
        if proxy is not None and proxy.origin.scheme != "http":
            raise ConfigurationError("Only proxies with an http URL are supported.")
        reached = origin if proxy is None else proxy.origin
        stream: Stream | None = None
        try:
            stream = await Stream.open(reached.host, reached.port, timeouts.connect)
            connection = _AsyncConnection(stream, origin, proxy, timeouts)
            if origin.scheme == "https":
                if proxy is not None:
                    await connection.open_tunnel(proxy)
                await stream.start_tls(self._context(), origin.host, timeouts.connect)
        except BaseException as error:
            if stream is not None:
                stream.close()
            if not isinstance(error, OSError | APIConnectionError):
                raise
            place = f"{reached.host}:{reached.port}"
            raise NotSent(f"{place} cannot be reached: {error or type(error).__name__}") from error
        return connection

    def _context(self) -> "ssl.SSLContext":
        if self._tls is None:
            self._tls = tls_context(self._ca_file)
        return self._tls


class _AsyncConnection:
    def __init__(self, stream: Stream, origin: Origin, proxy: Proxy | None, timeouts: Timeouts) -> None:
        self.stream, self.origin, self.timeouts = stream, origin, timeouts
        self._proxy = proxy if origin.scheme == "http" else None
        self.can_be_kept = False
        self._keep_alive = False
        self._left: int | None = 0
        """Bytes of the body that are left; None: until the connection ends."""
        self._chunked = False

    async def open_tunnel(self, proxy: Proxy) -> None:
        host = f"[{self.origin.host}]" if ":" in self.origin.host else self.origin.host
        target = f"{host}:{self.origin.port}"
        lines = [f"CONNECT {target} HTTP/1.1", f"Host: {target}"]
        if proxy.authorization:
            lines.append(f"Proxy-Authorization: {proxy.authorization}")
        await self.stream.write(_head(lines), self.timeouts.connect)
        status, _ = await self.read_head("CONNECT")
        if status != 200:
            raise ConnectionError(f"the proxy refused with status {status}")

    async def write(
        self, method: str, target: str, headers: Mapping[str, str], body: bytes | Iterable[bytes]
    ) -> None:
        absolute = f"http://{self.origin.authority}{target}" if self._proxy else target
        lines = [f"{method} {absolute} HTTP/1.1", f"Host: {self.origin.authority}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if self._proxy and self._proxy.authorization:
            lines.append(f"Proxy-Authorization: {self._proxy.authorization}")
        if isinstance(body, bytes) and (body or method in ("POST", "PUT", "PATCH")):
            lines.append(f"Content-Length: {len(body)}")
        try:
            if isinstance(body, bytes):
                await self.stream.write(_head(lines) + body, self.timeouts.read)
                return
            await self.stream.write(_head(lines), self.timeouts.read)
            for part in body:
                await self.stream.write(part, self.timeouts.read)
        except TimeoutError as error:
            raise APITimeoutError("The request could not be sent in time.") from error
        except OSError as error:
            raise APIConnectionError(f"The connection broke: {error}") from error

    async def read_head(self, method: str) -> tuple[int, dict[str, str]]:
        status = 100
        headers: dict[str, str] = {}
        while status < 200:
            status, headers = await self._read_one_head()
        encoding, length = headers.get("transfer-encoding", ""), headers.get("content-length", "")
        self._chunked = encoding.lower() == "chunked"
        if method in ("HEAD", "CONNECT") or status in (204, 304):
            self._left, self._chunked = 0, False
        elif self._chunked:
            self._left = 0
        elif _is_number(length):
            self._left = int(length)
        else:
            self._left = None
        self._keep_alive = headers.get("connection", "").lower() != "close" and self._left is not None
        self.can_be_kept = False
        return status, headers

    async def parts(self) -> AsyncIterator[bytes]:
        """The body, until it is complete."""
        if self._chunked:
            while size := await self._read_chunk_size():
                self._left = size
                while self._left:
                    yield await self._read_part()
                await self._readline()
            while (await self._readline()).strip():
                pass
        else:
            while self._left is None or self._left > 0:
                part = await self._read_part()
                if not part:
                    break
                yield part
        self.can_be_kept = self._keep_alive

    async def read_all(self) -> bytes:
        found, size = [], 0
        async for part in self.parts():
            found.append(part)
            size += len(part)
            if size > _MOST_BYTES:
                raise APIConnectionError("The response is too large.")
        return b"".join(found)

    def close(self) -> None:
        self.stream.close()

    async def _read_one_head(self) -> tuple[int, dict[str, str]]:
        version, _, rest = (await self._readline()).decode("latin-1").partition(" ")
        if not version.startswith("HTTP/1.") or not _is_number(rest[:3]):
            raise APIConnectionError("The server does not speak HTTP/1.1.")
        # Before version 1.1, a connection ends with its response unless the server says otherwise.
        headers: dict[str, str] = {"connection": "close"} if version == "HTTP/1.0" else {}
        for _ in range(_MOST_HEADERS):
            line = (await self._readline()).decode("latin-1").strip()
            if not line:
                return int(rest[:3]), headers
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        raise APIConnectionError("The response has too many headers.")

    async def _read_chunk_size(self) -> int:
        line = (await self._readline()).partition(b";")[0].strip()
        if not line or len(line) > 15 or line.strip(_HEXADECIMAL):
            raise APIConnectionError("The response cannot be read.")
        return int(line, 16)

    async def _read_part(self) -> bytes:
        wanted = _PART if self._left is None else min(_PART, self._left)
        try:
            part = await self.stream.read(wanted, self.timeouts.read)
        except TimeoutError as error:
            raise APITimeoutError("The response did not continue in time.") from error
        except OSError as error:
            raise APIConnectionError(f"The connection broke: {error}") from error
        if self._left is not None:
            if not part:
                raise APIConnectionError("The response ended too early.")
            self._left -= len(part)
        return part

    async def _readline(self) -> bytes:
        try:
            line = await self.stream.readline(self.timeouts.read)
        except TimeoutError as error:
            raise APITimeoutError("No response arrived in time.") from error
        except OSError as error:
            raise APIConnectionError(f"The connection broke: {error}") from error
        if not line.endswith(b"\n"):
            raise APIConnectionError("The connection was closed before the response was complete.")
        return line


def _head(lines: Iterable[str]) -> bytes:
    found = list(lines)
    if any("\r" in line or "\n" in line for line in found):
        raise ConfigurationError("A header contains a line break.")
    try:
        return "\r\n".join([*found, "", ""]).encode("latin-1")
    except UnicodeEncodeError:
        raise ConfigurationError(
            "The key, the URL or a header has a character that HTTP does not allow."
        ) from None


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
