"""The only way out of a container: an HTTP proxy on a socket inside it. It dials targets that the rules
allow, at addresses that the rules allow, and reports those that it refused."""

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from stead.node.containers.egress_rules import EgressRefused, EgressRules
from stead.shared.address_policy import Address

MAX_HEAD = 32 * 1024
TIMEOUT_SECONDS = 15.0
MAX_CONNECTIONS = 128
CHUNK = 64 * 1024
MAX_REPORTED = 20
"""How many refusals are reported in a job's output; further targets are refused in silence."""

_REQUEST = re.compile(rb"([A-Z]{3,10}) ([!-~]{1,8192}) HTTP/1\.[01]")
_HOP_HEADERS = (
    *(b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"host", b"te", b"upgrade"),
)

Report = Callable[[str], Awaitable[None]]
Resolve = Callable[[str, int], Awaitable[list[Address]]]


async def resolve(host: str, port: int) -> list[Address]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    return [ip_address(str(socket_address[0])) for *_, socket_address in found]


class _BadRequest(Exception):
    pass


class EgressProxy:
    def __init__(self, rules: EgressRules, report: Report, resolve: Resolve = resolve) -> None:
        self._rules, self._report, self._resolve = rules, report, resolve
        self._reported: set[str] = set()
        self._connections: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def listen(self, socket: Path) -> AsyncIterator[None]:
        server = await asyncio.start_unix_server(self._accept, socket, limit=MAX_HEAD)
        os.chmod(socket, 0o666)  # noqa: PTH101, S103
        try:
            yield
        finally:
            server.close()
            for task in self._connections:
                task.cancel()
            if self._connections:
                await asyncio.wait(self._connections)
            os.unlink(socket)  # noqa: PTH108

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
            await self._report_refusal(str(refused))
            await _respond(writer, "403 Forbidden", str(refused))
            return
        except OSError:
            await _respond(writer, "502 Bad Gateway", f"{host}:{port} cannot be reached")
            return
        try:
            if request is None:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                to_server.write(request)
            await _copy_both_ways((reader, to_server), (from_server, writer))
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

    async def _report_refusal(self, reason: str) -> None:
        if reason not in self._reported and len(self._reported) < MAX_REPORTED:
            self._reported.add(reason)
            await self._report(f"egress: refused {reason}")


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
    fields = [field for field in rest.split(b"\r\n") if field and _field_name(field) not in _HOP_HEADERS]
    # One request per connection: a second one could be for another host.
    own = [f"Host: {parts.netloc.rpartition('@')[2]}".encode(), b"Connection: close"]
    return (
        host,
        port or 80,
        b"\r\n".join([b"%b %b HTTP/1.1" % (method, path.encode()), *own, *fields, b"", b""]),
    )


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
