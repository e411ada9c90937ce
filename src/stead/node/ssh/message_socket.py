"""Messages with descriptors over a Unix socket that keeps their boundaries."""

import asyncio
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from stead.node.ssh.messages import MAX_DESCRIPTORS, MAX_MESSAGE

_CLOSE_ON_EXEC = 0x40000000
"""MSG_CMSG_CLOEXEC, which Python does not name."""

Socket = socket.socket


class MessageInvalid(Exception):
    """The other side does not follow the protocol."""


def new_socket() -> Socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
    made.setblocking(False)
    return made


class MessageSocket:
    """One task receives. Any number may send."""

    def __init__(self, connected: Socket) -> None:
        connected.setblocking(False)
        self._socket = connected
        self._sending = asyncio.Lock()
        self._waiting: set[asyncio.Event] = set()

    async def receive(self) -> tuple[bytes, list[int]]:
        """The next message and its descriptors, which belong to the caller. Empty when the other side is
        gone."""
        while self._socket.fileno() >= 0:
            try:
                return self._receive()
            except BlockingIOError:
                await self._wait(asyncio.get_running_loop().add_reader, _remove_reader)
            except ConnectionError:
                break
        return b"", []

    def _receive(self) -> tuple[bytes, list[int]]:
        data, descriptors, flags, _ = socket.recv_fds(
            self._socket, MAX_MESSAGE, MAX_DESCRIPTORS, _CLOSE_ON_EXEC
        )
        if flags & (socket.MSG_TRUNC | socket.MSG_CTRUNC):
            close_all(descriptors)
            raise MessageInvalid("the message is too long")
        return data, list(descriptors)

    async def send(self, data: bytes, descriptors: Sequence[int] = ()) -> None:
        """Raises OSError when the other side is gone."""
        async with self._sending:
            while True:
                try:
                    socket.send_fds(self._socket, [data], list(descriptors), socket.MSG_NOSIGNAL)
                except BlockingIOError:
                    await self._wait(asyncio.get_running_loop().add_writer, _remove_writer)
                else:
                    return

    async def _wait(
        self, watch: Callable[[int, Callable[[], None]], object], unwatch: Callable[[int], object]
    ) -> None:
        if (descriptor := self._socket.fileno()) < 0:
            raise ConnectionResetError
        ready = asyncio.Event()
        self._waiting.add(ready)
        watch(descriptor, ready.set)
        try:
            await ready.wait()
        finally:
            self._waiting.discard(ready)
            # After `close` another socket may have the number.
            if self._socket.fileno() >= 0:
                unwatch(descriptor)

    def close(self) -> None:
        if (descriptor := self._socket.fileno()) >= 0:
            _remove_reader(descriptor)
            _remove_writer(descriptor)
            with suppress(OSError):
                self._socket.shutdown(socket.SHUT_RDWR)
            self._socket.close()
            for ready in self._waiting:
                ready.set()


def _remove_reader(descriptor: int) -> object:
    return asyncio.get_running_loop().remove_reader(descriptor)


def _remove_writer(descriptor: int) -> object:
    return asyncio.get_running_loop().remove_writer(descriptor)


def close_all(descriptors: Sequence[int]) -> None:
    for descriptor in descriptors:
        with suppress(OSError):
            os.close(descriptor)
