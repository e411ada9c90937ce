"""Copies between a channel of SSH and descriptors, at the speed of the slower side."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol, cast


class Channel(Protocol):
    """What is used of a channel of AsyncSSH."""

    def write(self, data: bytes, datatype: int | None = None) -> None: ...

    def pause_reading(self) -> None: ...

    def resume_reading(self) -> None: ...


class Brake:
    """Stops reading from programs while any reason says so: a full channel, or a full connection."""

    def __init__(self) -> None:
        self._reasons: set[str] = set()
        self._transports: set[asyncio.ReadTransport] = set()

    def add(self, transport: asyncio.ReadTransport) -> None:
        self._transports.add(transport)
        if self._reasons:
            transport.pause_reading()

    def discard(self, transport: asyncio.ReadTransport) -> None:
        self._transports.discard(transport)

    def pull(self, reason: str) -> None:
        if not self._reasons:
            for transport in self._transports:
                transport.pause_reading()
        self._reasons.add(reason)

    def release(self, reason: str) -> None:
        if self._reasons == {reason}:
            for transport in self._transports:
                transport.resume_reading()
        self._reasons.discard(reason)


class FromProgram(asyncio.Protocol):
    """Writes what a program prints to the channel."""

    def __init__(
        self, channel: Channel, brake: Brake, datatype: int | None, on_end: Callable[[], None]
    ) -> None:
        self._channel, self._brake, self._datatype, self._on_end = channel, brake, datatype, on_end
        self._transport: asyncio.ReadTransport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.ReadTransport", transport)
        self._brake.add(self._transport)

    def data_received(self, data: bytes) -> None:
        # The client may have closed the channel.
        with suppress(OSError):
            self._channel.write(data, self._datatype)

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        if self._transport is not None:
            self._brake.discard(self._transport)
        self._on_end()


class ToProgram(asyncio.BaseProtocol):
    """Stops the client while the program does not read."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self.open, self.paused = True, False

    def pause_writing(self) -> None:
        self.paused = True
        self._channel.pause_reading()

    def resume_writing(self) -> None:
        self.paused = False
        self._channel.resume_reading()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """The program does not read any more. What the client still sends is dropped."""
        self.open = False
        self._channel.resume_reading()
