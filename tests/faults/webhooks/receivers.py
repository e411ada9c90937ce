"""`python -m tests.faults.webhooks.receivers`: the servers of fifty customers, good and bad, in one process.

Reads the behaviour of each host from standard input, and records every complete request.
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
_ACCEPTED = b"HTTP/1.1 204 No Content\r\n\r\n"
_FAILED = b"HTTP/1.1 500 No\r\ncontent-length: 5\r\n\r\nsorry"


class ReceiverProtocol(asyncio.Protocol):
    def __init__(self, host: str, kind: str, record: TextIO) -> None:
        self._host, self._kind, self._record = host, kind, record
        self._transport: asyncio.Transport | None = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport  # type: ignore[assignment]
        if self._kind == "refuses":
            transport.close()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._buffer, 0, end)
            request_end = end + 4 + (int(length[1]) if length else 0)
            if len(self._buffer) < request_end:
                return
            found = _DELIVERY.search(self._buffer, 0, end)
            self._buffer = self._buffer[request_end:]
            self._respond(found[1].decode() if found else "")

    def _respond(self, delivery: str) -> None:
        assert self._transport is not None
        fails = self._kind == "half" and random.random() < 0.5  # noqa: S311 - not used for security
        accepted = self._kind == "healthy" or (self._kind == "half" and not fails)
        self._record.write(f"{self._host} {delivery} {time.time():.4f} {int(accepted)}\n")
        if self._kind == "hangs":
            return
        self._transport.write(_FAILED if fails else _ACCEPTED)


async def _serve(config: dict[str, str], hosts: dict[str, str]) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(config["certificate"], config["key"])
    record = await asyncio.to_thread(Path(config["record"]).open, "a", 1)
    loop = asyncio.get_running_loop()
    for host, kind in hosts.items():
        tls = None if kind == "refuses" else context
        await loop.create_server(
            lambda host=host, kind=kind: ReceiverProtocol(host, kind, record), host, 8443, ssl=tls
        )
    print("ready", flush=True)  # noqa: T201 - the parent process waits for this line
    await asyncio.Event().wait()


if __name__ == "__main__":
    config = json.loads(sys.stdin.readline())
    uvloop.run(_serve(config, config["hosts"]))
