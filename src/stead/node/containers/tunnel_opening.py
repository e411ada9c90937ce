"""What a container sends first through a tunnel. The name that it asks for must be the one that the tunnel
was allowed for: otherwise a tunnel to one host of a shared server would reach all others."""

import asyncio
import re
from ipaddress import ip_address

MAX_HELLO = 64 * 1024
_HANDSHAKE, _CLIENT_HELLO, _SERVER_NAME = 22, 1, 0
_RECORD_HEADER, _MESSAGE_HEADER = 5, 4
_HTTP = re.compile(rb"[A-Z]{3,10} ")


class OpeningRefused(Exception):
    """The message says why."""


def is_http(opening: bytes) -> bool:
    return _HTTP.match(opening) is not None


def is_ssh(opening: bytes) -> bool:
    return opening.startswith(b"SSH-")


def is_tls(opening: bytes) -> bool:
    return opening[:1] == bytes([_HANDSHAKE])


async def read_tls_opening(opening: bytes, reader: asyncio.StreamReader, host: str) -> bytes:
    """All that was read until the client's hello was complete. Raises OpeningRefused if it is for another
    host."""
    hello = _Hello()
    data = opening
    while not hello.feed(data):
        data = await reader.read(MAX_HELLO)
        if not data:
            raise OpeningRefused("the tunnel ended before it was opened")
        opening += data
        if len(opening) > MAX_HELLO:
            raise OpeningRefused("the TLS hello is too long")
    check_host(_server_name(hello.message), host)
    return opening


def check_host(name: str | None, host: str) -> None:
    if name is None and _is_address(host):
        return
    if name is None or name.rstrip(".").lower() != host.rstrip(".").lower():
        raise OpeningRefused("it was opened for another host")


class _Hello:
    """The first message of a TLS handshake, which may be split into several records."""

    def __init__(self) -> None:
        self._raw = b""
        self.message = b""

    def feed(self, data: bytes) -> bool:
        """Return whether the message is complete."""
        self._raw += data
        while len(self._raw) >= _RECORD_HEADER:
            size = int.from_bytes(self._raw[3:5], "big")
            if self._raw[0] != _HANDSHAKE or self._raw[1] != 3 or not size:
                raise OpeningRefused("it is no TLS hello")
            if len(self._raw) < _RECORD_HEADER + size:
                return False
            self.message += self._raw[_RECORD_HEADER : _RECORD_HEADER + size]
            self._raw = self._raw[_RECORD_HEADER + size :]
            if self.message[0] != _CLIENT_HELLO:
                raise OpeningRefused("it is no TLS hello")
            if len(self.message) >= _MESSAGE_HEADER + int.from_bytes(self.message[1:4], "big"):
                return True
        return False


class _Fields:
    """Reads the fields of a message; a field that is not there raises OpeningRefused."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    def take(self, count: int) -> bytes:
        if len(self.data) < count:
            raise OpeningRefused("the TLS hello is damaged")
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "big")

    def block(self, width: int) -> "_Fields":
        """A field whose length comes before it."""
        return _Fields(self.take(self.number(width)))


def _server_name(message: bytes) -> str | None:
    """The name that the client asks for; None if it asks for none."""
    hello = _Fields(message[1:]).block(3)
    hello.take(2 + 32)  # version, random
    for width in (1, 2, 1):  # session, cipher suites, compression
        hello.block(width)
    names: list[bytes] = []
    extensions = hello.block(2) if hello.data else _Fields(b"")
    while extensions.data:
        kind, content = extensions.number(2), extensions.block(2)
        if kind == _SERVER_NAME:
            listed = content.block(2)
            while listed.data:
                listed.number(1)
                names.append(listed.block(2).data)
    if not names:
        return None
    if len(names) > 1:
        raise OpeningRefused("the TLS hello names several hosts")
    try:
        return names[0].decode("ascii")
    except UnicodeDecodeError:
        raise OpeningRefused("the TLS hello is damaged") from None


def _is_address(host: str) -> bool:
    try:
        ip_address(host.strip("[]"))
    except ValueError:
        return False
    return True
