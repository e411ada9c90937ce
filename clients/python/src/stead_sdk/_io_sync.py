"""The input and output of the blocking client. `_io_async` has the same for asyncio."""

import socket
import time
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    import ssl

MAX_LINE = 65536
sleep = time.sleep


class Stream:
    """A connection. Reading after the end returns nothing; all other failures are `OSError`."""

    def __init__(self, connected: socket.socket) -> None:
        self._socket = connected
        self._reader: BinaryIO | None = None

    @classmethod
    def open(cls, host: str, port: int, timeout: float) -> "Stream":
        connected = socket.create_connection((host, port), timeout)
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return cls(connected)

    def start_tls(self, context: "ssl.SSLContext", host: str, timeout: float) -> None:
        if self._reader is not None:
            # What a proxy has sent already must not be taken for a part of the encrypted response.
            self._socket.settimeout(0)
            if self._reader.peek(1):  # type: ignore[attr-defined]
                raise ConnectionError("the proxy has sent more than its answer")
            self._reader.close()
            self._reader = None
        self._socket.settimeout(timeout)
        self._socket = context.wrap_socket(self._socket, server_hostname=host)

    def write(self, data: bytes, timeout: float) -> None:
        self._socket.settimeout(timeout)
        self._socket.sendall(data)

    def readline(self, timeout: float) -> bytes:
        return self._prepare(timeout).readline(MAX_LINE)

    def read(self, size: int, timeout: float) -> bytes:
        """At most `size` bytes, as soon as there are some."""
        return self._prepare(timeout).read1(size)  # type: ignore[attr-defined, no-any-return]

    def is_idle(self) -> bool:
        """Whether the server has neither closed the connection nor sent anything unasked."""
        import select

        try:
            readable, _, _ = select.select([self._socket], [], [], 0)
        except (OSError, ValueError):
            return False
        return not readable

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._socket.close()

    def _prepare(self, timeout: float) -> BinaryIO:
        self._socket.settimeout(timeout)
        if self._reader is None:
            self._reader = self._socket.makefile("rb")
        return self._reader
