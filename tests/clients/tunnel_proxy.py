"""A proxy that opens tunnels, for those who say who they are."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from socketserver import BaseRequestHandler, ThreadingTCPServer


@dataclass
class Tunnels:
    address: str = ""
    wanted: list[str] = field(default_factory=list)
    """The first line of each request."""
    forged: bytes = b""
    """Sent to the client before anything from the target."""


def _relay(source: socket.socket, target: socket.socket) -> None:
    try:
        while part := source.recv(65536):
            target.sendall(part)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        return


@contextmanager
def tunnel_proxy(authorization: str) -> Iterator[Tunnels]:
    tunnels = Tunnels()

    class Handler(BaseRequestHandler):
        def handle(self) -> None:
            received = b""
            while b"\r\n\r\n" not in received:
                received += self.request.recv(65536)
            first, *lines = received.decode().split("\r\n")
            headers = {
                name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)
            }
            tunnels.wanted.append(first)
            if headers.get("proxy-authorization") != authorization:
                self.request.sendall(b"HTTP/1.1 407 No\r\nContent-Length: 0\r\n\r\n")
                return
            host, _, port = first.split(" ")[1].rpartition(":")
            with socket.create_connection((host, int(port))) as target:
                self.request.sendall(b"HTTP/1.1 200 OK\r\n\r\n" + tunnels.forged)
                threading.Thread(target=_relay, args=(target, self.request), daemon=True).start()
                _relay(self.request, target)

    class Server(ThreadingTCPServer):
        daemon_threads, allow_reuse_address = True, True

    server = Server(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    tunnels.address = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield tunnels
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
