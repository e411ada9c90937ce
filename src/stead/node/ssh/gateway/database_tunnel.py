"""Connects a forwarded port with the database server of the node. Nothing else can be reached."""

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from typing import cast

import asyncssh

from stead.node.ssh.gateway.agent_link import AgentLink, AgentUnavailable, Event
from stead.node.ssh.gateway.flow import Brake
from stead.node.ssh.message_socket import close_all
from stead.node.ssh.messages import NotStarted, Start, Started, Stop

HOSTS = frozenset(("127.0.0.1", "::1", "localhost", "db"))
PORT = 3306
OPEN_SECONDS = 60.0


def is_database(host: str, port: int) -> bool:
    return host.lower() in HOSTS and port == PORT


class DatabaseTunnel(asyncssh.SSHTCPSession[bytes]):
    """`on_end` is called when the channel is closed."""

    def __init__(
        self, transport: asyncio.Transport, server: "_ServerSide", on_end: Callable[[], None]
    ) -> None:
        self._transport, self._server, self._on_end = transport, server, on_end

    def connection_made(self, chan: asyncssh.SSHTCPChannel[bytes]) -> None:
        self._server.attach(chan)

    def data_received(self, data: bytes, datatype: int | None) -> None:  # noqa: ARG002
        self._transport.write(data)

    def eof_received(self) -> bool:
        if self._transport.can_write_eof():
            self._transport.write_eof()
        return True

    def pause_writing(self) -> None:
        self._server.brake.pull("channel")

    def resume_writing(self) -> None:
        self._server.brake.release("channel")

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        self._transport.abort()
        self._on_end()


class _ServerSide(asyncio.Protocol):
    """The connection to the database server, which speaks first."""

    def __init__(self, brake: Brake) -> None:
        self.brake = brake
        self._channel: asyncssh.SSHTCPChannel[bytes] | None = None
        self._transport: asyncio.Transport | None = None
        self._early: list[bytes] = []
        self._ended = False

    def attach(self, channel: asyncssh.SSHTCPChannel[bytes]) -> None:
        self._channel = channel
        for data in self._early:
            channel.write(data)
        if self._ended:
            channel.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self.brake.add(self._transport)

    def data_received(self, data: bytes) -> None:
        if self._channel is None:
            self._early.append(data)
        else:
            # The client may have closed the channel.
            with suppress(OSError):
                self._channel.write(data)

    def pause_writing(self) -> None:
        if self._channel is not None:
            self._channel.pause_reading()

    def resume_writing(self) -> None:
        if self._channel is not None:
            self._channel.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        assert self._transport is not None  # noqa: S101
        self._ended = True
        self.brake.discard(self._transport)
        if self._channel is not None:
            self._channel.close()


async def open_tunnel(link: AgentLink, brake: Brake, on_end: Callable[[], None]) -> DatabaseTunnel:
    """Raises ChannelOpenError."""
    answer: asyncio.Future[tuple[Event, list[int]]] = asyncio.get_running_loop().create_future()

    def on_event(event: Event, descriptors: list[int]) -> None:
        if answer.done():
            close_all(descriptors)
        else:
            answer.set_result((event, descriptors))

    number = link.new_channel(on_event)
    try:
        async with asyncio.timeout(OPEN_SECONDS):
            await link.send(Start(number, "database"))
            event, descriptors = await answer
            try:
                transport, server = await _connect(event, descriptors, brake)
            finally:
                close_all(descriptors)
    except BaseException as error:
        # The agent keeps a place for the tunnel.
        link.send_soon(Stop(number))
        if isinstance(error, AgentUnavailable | TimeoutError | OSError):
            raise _refusal("the server is not available") from None
        raise
    finally:
        link.forget_channel(number)

    def end() -> None:
        link.send_soon(Stop(number))
        on_end()

    return DatabaseTunnel(transport, server, end)


async def _connect(
    event: Event, descriptors: list[int], brake: Brake
) -> tuple[asyncio.Transport, _ServerSide]:
    if not isinstance(event, Started) or len(descriptors) != 1:
        raise _refusal(event.reason if isinstance(event, NotStarted) else "the database is not available")
    # With the user of this process, who has no account in the database.
    path = f"/proc/self/fd/{descriptors[0]}/{os.path.basename(event.socket)}"  # noqa: PTH119
    return await asyncio.get_running_loop().create_unix_connection(lambda: _ServerSide(brake), path)


def _refusal(reason: str) -> asyncssh.ChannelOpenError:
    return asyncssh.ChannelOpenError(asyncssh.OPEN_CONNECT_FAILED, reason)
