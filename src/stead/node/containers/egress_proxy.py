"""The only way out of a container: an HTTP proxy on a socket inside it. It dials targets that the rules
allow, at addresses that the rules allow, forwards only what is for that host, and reports what failed."""

import asyncio
import contextlib
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from urllib.parse import urlsplit

from stead.node import unix_server
from stead.node.containers.egress_rules import EgressRefused, EgressRules
from stead.node.containers.names import Resolve, resolve
from stead.node.containers.tunnel_opening import (
    OpeningRefused,
    check_host,
    is_http,
    is_ssh,
    is_tls,
    read_tls_opening,
)

MAX_HEAD = 32 * 1024
TIMEOUT_SECONDS = 15.0
MAX_CONNECTIONS = 128
CHUNK = 64 * 1024
MAX_REPORTED = 20
"""How many targets are reported in a job's output; further ones are refused in silence."""

_REQUEST = re.compile(rb"([A-Z]{3,10}) ([!-~]{1,8192}) HTTP/1\.[01]")
_SHORTEST_OPENING = 11
"""Enough to tell TLS, ssh and HTTP apart: the longest method and a space. Each of them sends more."""
_HOP_HEADERS = (
    *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"host", b"te", b"upgrade"),
)

Report = Callable[[str], Awaitable[None]]


class _BadRequest(Exception):
    pass


class EgressProxy:
    def __init__(self, rules: EgressRules, report: Report, resolve: Resolve = resolve) -> None:
        self._rules, self._report, self._resolve = rules, report, resolve
        self._reported: set[str] = set()
        self._connections: set[asyncio.Task[None]] = set()

    def listen(self, socket: Path) -> AbstractAsyncContextManager[None]:
        return unix_server.listen(socket, self._accept, self._connections, limit=MAX_HEAD)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= MAX_CONNECTIONS:
            writer.close()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
                await self._proxy(reader, writer)
        finally:
            writer.close()

    async def _proxy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            head = await reader.readuntil(b"\r\n\r\n")
        try:
            host, port, request = _parse(head)
            from_server, to_server = await self._dial(host, port)
        except _BadRequest:
            await _respond(writer, "400 Bad Request", "the proxy did not understand the request")
            return
        except EgressRefused as refused:
            await self._report_once(f"egress: refused {refused}")
            await _respond(writer, "403 Forbidden", str(refused))
            return
        except OSError:
            await self._report_once(f"egress: {host}:{port} cannot be reached")
            await _respond(writer, "502 Bad Gateway", f"{host}:{port} cannot be reached")
            return
        try:
            if request is None:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                request = await self._read_opening(reader, host, port)
            to_server.write(request)
            await _copy_both_ways((reader, to_server), (from_server, writer))
        except OpeningRefused as refused:
            await self._report_once(f"egress: refused {host}:{port}: {refused}")
        finally:
            to_server.close()

    async def _dial(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        rule = self._rules.rule_for(host, port)
        async with asyncio.timeout(TIMEOUT_SECONDS):
            permitted = self._rules.permitted(rule, host, port, await self._resolve(host, port))
        failure: OSError | None = None
        # Dial the address that was checked: the name may resolve to another one a moment later.
        for address in permitted:
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    return await asyncio.open_connection(str(address), port)
            except OSError as error:
                failure = error
        raise failure or OSError("it has no address")

    async def _read_opening(self, reader: asyncio.StreamReader, host: str, port: int) -> bytes:
        """The first bytes of a tunnel, if they ask for the host that it was allowed for."""
        async with asyncio.timeout(TIMEOUT_SECONDS):
            opening = await reader.readexactly(_SHORTEST_OPENING)
            if is_tls(opening):
                return await read_tls_opening(opening, reader, host)
            if is_ssh(opening) and self._rules.allows_ssh(host, port):
                return opening
            if not is_http(opening):
                raise OpeningRefused("a tunnel carries TLS, HTTP or, for a git source, ssh")
            return _parse_tunnelled(opening + await reader.readuntil(b"\r\n\r\n"), host)

    async def _report_once(self, message: str) -> None:
        if message not in self._reported and len(self._reported) < MAX_REPORTED:
            self._reported.add(message)
            await self._report(message)


def _parse(head: bytes) -> tuple[str, int, bytes | None]:
    """Host, port and the request to forward; None instead of the request for a tunnel."""
    line, _, rest = head.partition(b"\r\n")
    request = _REQUEST.fullmatch(line)
    if request is None:
        raise _BadRequest
    method, target = request[1], request[2].decode("ascii")
    try:
        parts = urlsplit(f"//{target}" if method == b"CONNECT" else target)
        host, port = parts.hostname, parts.port
    except ValueError:
        raise _BadRequest from None
    if not host or len(host) > 253:
        raise _BadRequest
    if method == b"CONNECT":
        return host, port or 443, None
    if parts.scheme != "http":
        raise _BadRequest
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    authority = parts.netloc.rpartition("@")[2].encode()
    return host, port or 80, _one_request(b"%b %b HTTP/1.1" % (method, path.encode()), authority, rest)


def _parse_tunnelled(head: bytes, host: str) -> bytes:
    """The request to forward through a tunnel, if its `Host` is the host of the tunnel."""
    line, _, rest = head.partition(b"\r\n")
    request = _REQUEST.fullmatch(line)
    if request is None or not request[2].startswith(b"/"):
        raise OpeningRefused("it is no HTTP request")
    fields = [field for field in rest.split(b"\r\n") if _field_name(field) == b"host"]
    if len(fields) != 1:
        raise OpeningRefused("the request does not name one host")
    authority = fields[0].partition(b":")[2].strip()
    try:
        name = urlsplit(f"//{authority.decode('ascii')}").hostname
    except ValueError:
        name = None
    check_host(name or "", host)
    return _one_request(line, authority, rest)


def _one_request(line: bytes, authority: bytes, rest: bytes) -> bytes:
    """One request per connection: a second one could be for another host."""
    fields = [field for field in rest.split(b"\r\n") if field and _field_name(field) not in _HOP_HEADERS]
    return b"\r\n".join([line, b"Host: %b" % authority, b"Connection: close", *fields, b"", b""])


def _field_name(field: bytes) -> bytes:
    return field.partition(b":")[0].strip().lower()


async def _respond(writer: asyncio.StreamWriter, status: str, reason: str) -> None:
    body = f"stead: {reason}\n".encode()
    writer.write(f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nConnection: close\r\n".encode())
    writer.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()


async def _copy_both_ways(*directions: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    copies = [asyncio.create_task(_copy(*direction)) for direction in directions]
    try:
        await asyncio.wait(copies)
    finally:
        for task in copies:
            task.cancel()
        await asyncio.wait(copies)


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
