"""A visitor who costs next to nothing: one connection, kept, and one blocking read for an answer."""

import socket
from dataclasses import dataclass

PATIENCE = 10.0
_CHUNK = 65536


class Disconnected(Exception):
    """There was no answer, or not a whole one."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    reason: str
    """Of a page that is ours and not the site's."""
    body: bytes


class Visitor:
    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._address = host, int(port)
        self._socket: socket.socket | None = None

    def get(self, host: str) -> Answer:
        """Its front page. Not for two threads at once."""
        try:
            if self._socket is None:
                self._socket = socket.create_connection(self._address, timeout=PATIENCE)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode())
            return self._answer(self._socket)
        except (OSError, Disconnected) as error:
            self.close()
            raise Disconnected(type(error).__name__) from None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _answer(self, connection: socket.socket) -> Answer:
        head, body = b"", b""
        while not head:
            body += _received(connection)
            if b"\r\n\r\n" in body:
                head, _, body = body.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        while len(body) < int(fields[b"content-length"]):
            body += _received(connection)
        reason = fields.get(b"x-stead-reason", b"").decode()
        if fields.get(b"connection") == b"close":
            self.close()
        return Answer(int(head.split(b" ", 2)[1]), reason, body)


def _received(connection: socket.socket) -> bytes:
    data = connection.recv(_CHUNK)
    if not data:
        raise Disconnected
    return data
