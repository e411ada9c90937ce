"""The one way out of a sandbox: an HTTP proxy on a socket in it, which dials what the rules permit, at an
address that the rules permit, and says what it refused."""

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import urlsplit

from stead.node.builds.egress_rules import Refused, Rules
from stead.shared.addresses import Address

HEAD = 32 * 1024
PATIENCE = 15.0
AT_ONCE = 128
CHUNK = 64 * 1024
TOLD = 20
"""Refusals that a job's output names; the rest are refused all the same."""

_REQUEST = re.compile(rb"([A-Z]{3,10}) ([!-~]{1,8192}) HTTP/1\.[01]")
_HOP = (b"connection", b"keep-alive", b"proxy-connection", b"proxy-authorization", b"host", b"te", b"upgrade")

Tell = Callable[[str], Awaitable[None]]
Resolve = Callable[[str, int], Awaitable[list[Address]]]


async def resolve(host: str, port: int) -> list[Address]:
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=1)
    return [ip_address(str(place[0])) for *_, place in found]


class _BadRequest(Exception):
    pass


class Egress:
    def __init__(self, rules: Rules, tell: Tell, resolve: Resolve = resolve) -> None:
        self._rules, self._tell, self._resolve = rules, tell, resolve
        self._told: set[str] = set()
        self._carrying: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self, socket: Path) -> AsyncIterator[None]:
        server = await asyncio.start_unix_server(self._accept, socket, limit=HEAD)
        os.chmod(socket, 0o666)  # noqa: PTH101, S103
        try:
            yield
        finally:
            server.close()
            for task in self._carrying:
                task.cancel()
            if self._carrying:
                await asyncio.wait(self._carrying)
            os.unlink(socket)  # noqa: PTH108

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._carrying) >= AT_ONCE:
            writer.close()
            return
        task = asyncio.create_task(self._carry(reader, writer))
        self._carrying.add(task)
        task.add_done_callback(self._carrying.discard)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
                await self._serve(reader, writer)
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(PATIENCE):
            head = await reader.readuntil(b"\r\n\r\n")
        try:
            host, port, request = _target(head)
            inward, outward = await self._dial(host, port)
        except _BadRequest:
            await _answer(writer, "400 Bad Request", "the proxy did not understand the request")
            return
        except Refused as refused:
            await self._refuse(str(refused))
            await _answer(writer, "403 Forbidden", str(refused))
            return
        except OSError:
            await _answer(writer, "502 Bad Gateway", f"{host}:{port} cannot be reached")
            return
        try:
            if request is None:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                outward.write(request)
            await _both_ways((reader, outward), (inward, writer))
        finally:
            outward.close()

    async def _dial(self, host: str, port: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        rule = self._rules.rule_for(host, port)
        async with asyncio.timeout(PATIENCE):
            permitted = self._rules.permitted(rule, host, port, await self._resolve(host, port))
        failure: OSError | None = None
        # Exactly what was checked is dialled; what the name resolves to a moment later does not matter.
        for address in permitted:
            try:
                async with asyncio.timeout(PATIENCE):
                    return await asyncio.open_connection(str(address), port)
            except OSError as error:
                failure = error
        raise failure or OSError("it has no address")

    async def _refuse(self, reason: str) -> None:
        if reason not in self._told and len(self._told) < TOLD:
            self._told.add(reason)
            await self._tell(f"egress: refused {reason}")


def _target(head: bytes) -> tuple[str, int, bytes | None]:
    """Host, port and, unless it is a tunnel, the request as the server is to see it."""
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
    fields = [field for field in rest.split(b"\r\n") if field and _name(field) not in _HOP]
    # One request to a connection: a second one might be meant for somebody else.
    own = [f"Host: {parts.netloc.rpartition('@')[2]}".encode(), b"Connection: close"]
    return (
        host,
        port or 80,
        b"\r\n".join([b"%b %b HTTP/1.1" % (method, path.encode()), *own, *fields, b"", b""]),
    )


def _name(field: bytes) -> bytes:
    return field.partition(b":")[0].strip().lower()


async def _answer(writer: asyncio.StreamWriter, status: str, reason: str) -> None:
    body = f"stead: {reason}\n".encode()
    writer.write(f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nConnection: close\r\n".encode())
    writer.write(f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await writer.drain()


async def _both_ways(*ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
    moving = [asyncio.create_task(_pump(*way)) for way in ways]
    try:
        await asyncio.wait(moving)
    finally:
        for task in moving:
            task.cancel()
        await asyncio.wait(moving)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(CHUNK):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
