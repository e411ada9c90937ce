"""A minimal HTTP client: one persistent connection, and usually one blocking read per response."""

import socket
from dataclasses import dataclass

TIMEOUT = 10.0
_CHUNK = 65536


class Disconnected(Exception):
    """There was no response, or an incomplete one."""


@dataclass(frozen=True, slots=True)
class Response:
    status: int
    reason: str
    """The reason of an error page of the platform; empty for a page of the site."""
    body: bytes


class Visitor:
    def __init__(self, address: str) -> None:
        host, _, port = address.rpartition(":")
        self._address = host, int(port)
        self._socket: socket.socket | None = None

    def get(self, host: str) -> Response:
        """Requests the front page of the host. Not thread-safe."""
        try:
            if self._socket is None:
                self._socket = socket.create_connection(self._address, timeout=TIMEOUT)
                self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._socket.sendall(b"GET / HTTP/1.1\r\nHost: %s\r\n\r\n" % host.encode())
            return self._read_response(self._socket)
        except (OSError, Disconnected) as error:
            self.close()
            raise Disconnected(type(error).__name__) from None

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _read_response(self, connection: socket.socket) -> Response:
        head, body = b"", b""
        while not head:
            body += _receive(connection)
            if b"\r\n\r\n" in body:
                head, _, body = body.partition(b"\r\n\r\n")
        fields = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        while len(body) < int(fields[b"content-length"]):
            body += _receive(connection)
        reason = fields.get(b"x-stead-reason", b"").decode()
        if fields.get(b"connection") == b"close":
            self.close()
        return Response(int(head.split(b" ", 2)[1]), reason, body)


def _receive(connection: socket.socket) -> bytes:
    data = connection.recv(_CHUNK)
    if not data:
        raise Disconnected
    return data
