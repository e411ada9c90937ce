"""`python -m tests.faults.webhooks.sink`: the servers of fifty customers, good and bad, in one process.

Reads what each host does from standard input, and writes down every request it has read whole.
"""

import asyncio
import json
import random
import re
import ssl
import sys
import time
from pathlib import Path
from typing import TextIO

import uvloop

_LENGTH = re.compile(rb"content-length: (\d+)", re.IGNORECASE)
_DELIVERY = re.compile(rb"api-delivery-id: (\S+)", re.IGNORECASE)
_TAKEN = b"HTTP/1.1 204 No Content\r\n\r\n"
_FAILED = b"HTTP/1.1 500 No\r\ncontent-length: 5\r\n\r\nsorry"


class Server(asyncio.Protocol):
    def __init__(self, host: str, kind: str, book: TextIO) -> None:
        self._host, self._kind, self._book = host, kind, book
        self._transport: asyncio.Transport | None = None
        self._waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        if self._kind == "refuses":
            transport.close()

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while (end := self._waiting.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._waiting, 0, end)
            whole = end + 4 + (int(length[1]) if length else 0)
            if len(self._waiting) < whole:
                return
            found = _DELIVERY.search(self._waiting, 0, end)
            self._waiting = self._waiting[whole:]
            self._answer(found[1].decode() if found else "")

    def _answer(self, delivery: str) -> None:
        assert self._transport is not None
        fails = self._kind == "half" and random.random() < 0.5  # noqa: S311 - chance, not a secret
        taken = self._kind == "healthy" or (self._kind == "half" and not fails)
        self._book.write(f"{self._host} {delivery} {time.time():.4f} {int(taken)}\n")
        if self._kind == "hangs":
            return
        self._transport.write(_FAILED if fails else _TAKEN)


async def _serve(given: dict[str, str], hosts: dict[str, str]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(given["certificate"], given["key"])
    book = await asyncio.to_thread(Path(given["book"]).open, "a", 1)
    loop = asyncio.get_running_loop()
    for host, kind in hosts.items():
        secure = None if kind == "refuses" else context
        await loop.create_server(
            lambda host=host, kind=kind: Server(host, kind, book), host, 8443, ssl=secure
        )
    print("ready", flush=True)  # noqa: T201 - whoever started it waits for this
    await asyncio.Event().wait()


if __name__ == "__main__":
    read = json.loads(sys.stdin.readline())
    uvloop.run(_serve(read, read["hosts"]))
