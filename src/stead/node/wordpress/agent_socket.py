"""The socket on which the processes of one WordPress site talk to the node.

A message is one line of JSON, sometimes followed by bytes; the answer is one line of JSON. Whatever a site
sends concerns only itself: the node knows from the socket which site it is.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated

import msgspec
import structlog
from msgspec import Meta, Struct

from stead.node import unix_server
from stead.node.wordpress.traces import TraceMessage
from stead.protocol.sign_ins import Host, SignIn
from stead.shared.token_bucket import TokenBucket

MAX_LINE = 32 * 1024
MAX_CONNECTIONS = 32
MESSAGES_PER_SECOND, BURST = 20.0, 100
TIMEOUT_SECONDS = 10.0

log = structlog.get_logger()

Tag = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,100}\Z")]
Moment = Annotated[float, Meta(ge=0, le=1e11)]


class CronTimes(Struct, frozen=True):
    """When scheduled events are due, in seconds since 1970."""

    next: Moment | None = None
    once: Moment | None = None
    """Of these, the next one that is not repeated."""


class SignInMessage(Struct, frozen=True):
    """Somebody has used a sign-in link."""

    token: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{43}\Z")]
    host: Host
    address: Annotated[str, Meta(max_length=64)] = ""
    """Of the visitor, as the site says."""


class SiteMessage(Struct, frozen=True):
    purge: Annotated[tuple[Tag, ...], Meta(max_length=256)] = ()
    purge_all: bool = False
    components: bool = False
    """Plugins or themes were changed."""
    cron: CronTimes | None = None
    mail: Annotated[int, Meta(ge=0)] | None = None
    """The size of a mail, which follows."""
    sign_in: SignInMessage | None = None
    trace: TraceMessage | None = None


class SiteAnswer(Struct, frozen=True, omit_defaults=True):
    error: str = ""
    sign_in: SignIn | None = None


Handle = Callable[[SiteMessage, asyncio.StreamReader], Awaitable[SiteAnswer]]
_decode = msgspec.json.Decoder(SiteMessage).decode


class AgentSocket:
    """`handle` gets a message and the bytes after it. `lost` is called when a message of the site was not
    read, because it sends too many."""

    def __init__(self, handle: Handle, lost: Callable[[], None]) -> None:
        self._handle, self._lost = handle, lost
        self._allowed = TokenBucket(MESSAGES_PER_SECOND, BURST)
        self._connections: set[asyncio.Task[None]] = set()

    def listen(self, socket: Path) -> AbstractAsyncContextManager[None]:
        return unix_server.listen(socket, self._accept, self._connections, limit=MAX_LINE)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._connections) >= MAX_CONNECTIONS or not self._allowed.take():
            writer.write(msgspec.json.encode(SiteAnswer("the site sends too many messages")) + b"\n")
            writer.close()
            self._lost()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(task)
        task.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # The site may have closed the connection, or send anything.
        with contextlib.suppress(OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    answer = await self._answer(reader)
                    writer.write(msgspec.json.encode(answer) + b"\n")
                    await writer.drain()
            finally:
                writer.close()

    async def _answer(self, reader: asyncio.StreamReader) -> SiteAnswer:
        line = await reader.readuntil(b"\n")
        try:
            message = _decode(line)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return SiteAnswer("the message cannot be read")
        return await self._handle(message, reader)
