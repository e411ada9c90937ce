"""The agent tells the host of functions what has changed; the host answers when it serves it."""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Literal

import msgspec
import structlog
from msgspec import Struct

from stead.node.drivers.driver import SiteSpan

MAX_LINE = 1 << 16
ANSWER_SECONDS = 600.0
SPAN_SECONDS = 5.0

log = structlog.get_logger()


class HostOrder(Struct, frozen=True):
    """`ensure`: serve the version as the table of functions says, after starting it once. `reload`: withdraw
    what is not in the table any more. `spans`: hand over what was recorded about requests."""

    action: Literal["ensure", "reload", "spans"]
    version: str = ""


class HostAnswer(Struct, frozen=True):
    ok: bool
    reason: str = ""
    spans: tuple[SiteSpan, ...] = ()


class HostUnreachable(Exception):
    """The host of functions does not run, or ended meanwhile."""


async def send_order(path: Path, order: HostOrder) -> HostAnswer:
    """Raises HostUnreachable."""
    try:
        reader, writer = await asyncio.open_unix_connection(str(path), limit=MAX_LINE)
    except OSError:
        raise HostUnreachable from None
    try:
        writer.write(msgspec.json.encode(order) + b"\n")
        async with asyncio.timeout(ANSWER_SECONDS):
            line = await reader.readline()
    except (OSError, ValueError, TimeoutError):
        raise HostUnreachable from None
    finally:
        writer.close()
    if not line:
        raise HostUnreachable
    return msgspec.json.decode(line, type=HostAnswer)


def take_spans(path: Path) -> tuple[SiteSpan, ...]:
    """Blocks. Nothing if the host does not run."""
    received = bytearray()
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(SPAN_SECONDS)
        connection.connect(str(path))
        connection.sendall(msgspec.json.encode(HostOrder("spans")) + b"\n")
        while part := connection.recv(1 << 20):
            received += part
        return msgspec.json.decode(received, type=HostAnswer).spans
    return ()


Handle = Callable[[HostOrder], Coroutine[Any, Any, HostAnswer]]


async def serve_orders(path: Path, handle: Handle) -> asyncio.Server:
    """Only root can connect: others may not write to the socket. An order whose sender has closed the
    connection is cancelled: the agent has given its place to another one."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if line := await reader.readline():
                order = msgspec.json.decode(line, type=HostOrder)
                done = await _handle_while_connected(handle(order), reader)
                if done is None:
                    log.info("functions.order_cancelled", action=order.action, version=order.version)
                    return
                writer.write(msgspec.json.encode(done) + b"\n")
                await writer.drain()
        except (OSError, ValueError, msgspec.MsgspecError) as error:
            log.warning("functions.order_failed", error=type(error).__name__)
        finally:
            writer.close()

    path.unlink(missing_ok=True)  # noqa: ASYNC240 - when nothing runs yet
    return await asyncio.start_unix_server(answer, str(path), limit=MAX_LINE)


async def _handle_while_connected(
    handling: Coroutine[Any, Any, HostAnswer], reader: asyncio.StreamReader
) -> HostAnswer | None:
    """None if the connection was closed first."""
    handler, closed = asyncio.create_task(handling), asyncio.create_task(reader.read())
    try:
        await asyncio.wait({handler, closed}, return_when=asyncio.FIRST_COMPLETED)
        return handler.result() if handler.done() else None
    finally:
        for task in (handler, closed):
            task.cancel()
        await asyncio.gather(handler, closed, return_exceptions=True)
