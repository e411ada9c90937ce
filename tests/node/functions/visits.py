"""Visits a function and prints how long each request took, in milliseconds. A program of its own: what it
measures must not wait for what else a test does."""

import json
import socket
import sys
import time


def visit(path: str) -> float:
    began = time.perf_counter()
    with socket.socket(socket.AF_UNIX) as connection:
        connection.settimeout(60)
        connection.connect(path)
        connection.sendall(b"GET / HTTP/1.1\r\nHost: a.example\r\n\r\n")
        received = b""
        while part := connection.recv(1 << 16):
            received += part
    if not received.startswith(b"HTTP/1.1 200 "):
        raise SystemExit(f"the function did not answer: {received[:200]!r}")
    return (time.perf_counter() - began) * 1000


def main(path: str) -> None:
    """A line with a number of visits, a line with their times."""
    for line in sys.stdin:
        print(json.dumps([visit(path) for _ in range(int(line))]), flush=True)  # noqa: T201


if __name__ == "__main__":
    main(sys.argv[1])
