"""The socket on which an environment is served. The agent owns it, so requests wait in its queue while the
container is starting, and no request is lost when the container is replaced."""

import contextlib
import os
import select
import socket
from pathlib import Path
from secrets import token_hex

BACKLOG = 4096
_REQUEST_BYTES = 1 << 20


def open_socket(path: Path) -> socket.socket:
    """Listen on the path. A socket that is there is replaced in one step; its connections stay."""
    directory = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    name = f".{token_hex(4)}"
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        # Through the descriptor of the directory: the path of a socket has at most 107 bytes.
        listening.bind(f"/proc/self/fd/{directory}/{name}")
        # The workers of nginx are another user.
        os.chmod(name, 0o666, dir_fd=directory)  # noqa: S103
        listening.listen(BACKLOG)
        listening.setblocking(False)
        os.rename(name, path.name, src_dir_fd=directory, dst_dir_fd=directory)
    except BaseException:
        listening.close()
        raise
    finally:
        os.close(directory)
    return listening


def refuse_waiting(listening: socket.socket, response: bytes = b"") -> int:
    """Close all connections that wait, after a response if there is one, and return their number. The edge
    answers those without a response with an error page."""
    count = 0
    # The container may have changed this: all copies of a descriptor share it.
    os.set_blocking(listening.fileno(), False)
    while True:
        try:
            connection, _ = listening.accept()
        except BlockingIOError:
            return count
        with connection:
            _respond(connection, response)
        count += 1


def _respond(connection: socket.socket, response: bytes) -> None:
    connection.setblocking(False)
    with contextlib.suppress(OSError):
        if response:
            # What is not read would reset the connection before the response is read.
            connection.recv(_REQUEST_BYTES)
            connection.send(response)


def has_waiting(listening: socket.socket) -> bool:
    """Whether a connection waits to be accepted."""
    poll = select.poll()
    poll.register(listening, select.POLLIN)
    return bool(poll.poll(0))


def connect_and_close(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.setblocking(False)
        with contextlib.suppress(OSError):
            connection.connect(os.fspath(path))
