"""The agent's end of the socket to the process that reads the files of customers."""

import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from stead.node.scanning.child import MESSAGE_BYTES, Start
from stead.node.scanning.verdicts import Hello, Request, Verdict

ANSWER_SECONDS = 900.0
"""For one message of files, if each of them takes as long as it may."""
_verdicts = msgspec.msgpack.Decoder(list[Verdict])


class EngineFailed(Exception):
    """An engine does not answer, so there is no result. Nothing follows from what was scanned so far."""


class ScannerChannel:
    """The agent's end of the socket to the scanner."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        channel.settimeout(ANSWER_SECONDS)

    def end(self) -> None:
        """From any thread: whoever waits for an answer gets none."""
        with suppress(OSError):
            self._channel.shutdown(socket.SHUT_RDWR)

    def start(self, start: Start, rules: Path, known: Path) -> Hello:
        with rules.open("rb") as first, known.open("rb") as second:
            descriptors = [first.fileno(), second.fileno()]
            self._do(lambda: socket.send_fds(self._channel, [msgspec.msgpack.encode(start)], descriptors))
        hello = msgspec.msgpack.decode(self._receive(), type=Hello)
        if hello.error:
            raise EngineFailed(hello.error)
        return hello

    def send(self, requests: list[Request], descriptors: list[int]) -> None:
        data = msgspec.msgpack.encode(requests)
        self._do(lambda: socket.send_fds(self._channel, [data], descriptors))

    def receive(self) -> list[Verdict]:
        try:
            return _verdicts.decode(self._receive())
        except msgspec.MsgspecError:
            raise EngineFailed("the scanner has sent something that cannot be read") from None

    def _receive(self) -> bytes:
        data = self._do(lambda: self._channel.recv(MESSAGE_BYTES))
        if not data:
            raise EngineFailed("the scanner has ended")
        return data

    def _do(self, action: Callable[[], object]) -> bytes:
        try:
            result = action()
        except OSError as error:
            raise EngineFailed(f"the scanner does not answer ({type(error).__name__})") from None
        return result if isinstance(result, bytes) else b""
