"""Serves the record store to nginx, which looks up names that it does not know: read only, over HTTP on a
unix socket.

    GET /host/<host>            the host, its environment, its site's redirects, its node
    GET /certificate/<host>     the certificate, decrypted
    GET /challenge/<token>      the answer to an ACME challenge

The response is record lines in the format of the feed, or 404.
"""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import msgspec
import structlog

from stead.node.feed.record_decoder import RecordDecoder
from stead.node.feed.record_store import RecordStore, StoredRecord
from stead.node.feed.run_directory import share_with_edge
from stead.protocol import edge_records
from stead.protocol.edge_records import EnvironmentRecord, HostRecord

MAX_REQUEST_BYTES = 8 * 1024
MAX_CONNECTIONS = 256
IDLE_SECONDS = 60.0
RESPONSE_SECONDS = 10.0

log = structlog.get_logger()

_host = msgspec.json.Decoder(HostRecord).decode
_environment = msgspec.json.Decoder(EnvironmentRecord).decode


class RecordServer:
    def __init__(self, store: RecordStore, decoder: RecordDecoder, region: str) -> None:
        self._store, self._decoder, self._region = store, decoder, region
        self._connections = 0
        self._finders: dict[str, Callable[[str], list[StoredRecord]]] = {
            "host": self._find_host,
            "certificate": lambda host: self._find_one(edge_records.certificate_key(region, host)),
            "challenge": lambda token: self._find_one(edge_records.challenge_key(region, token)),
        }

    @asynccontextmanager
    async def listen(self, socket: Path) -> AsyncIterator[None]:
        server = await asyncio.start_unix_server(self._serve, socket, limit=MAX_REQUEST_BYTES)
        share_with_edge(socket)
        try:
            yield
        finally:
            server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections += 1
        try:
            if self._connections > MAX_CONNECTIONS:
                await _send(writer, 503, b"")
                return
            while await self._handle_request(reader, writer):
                continue
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            return
        finally:
            self._connections -= 1
            writer.close()

    async def _handle_request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Return whether the connection can be used again."""
        async with asyncio.timeout(IDLE_SECONDS):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        method, path, version = (*head.partition("\r\n")[0].split(" "), "", "", "")[:3]
        if method != "GET":
            await _send(writer, 405, b"")
            return False
        try:
            lines = self._find(path)
        except sqlite3.Error as error:
            log.warning("door.failed", error=type(error).__name__)
            await _send(writer, 503, b"")
            return False
        await _send(writer, 200 if lines else 404, lines)
        return version == "HTTP/1.1" and "\r\nconnection: close" not in head.lower()

    def _find(self, path: str) -> bytes:
        _, kind, name = path.split("/", 2) if path.count("/") == 2 else ("", "", "")
        finder = self._finders.get(kind)
        if finder is None:
            return b""
        try:
            found = finder(name)
        except (ValueError, msgspec.MsgspecError):
            # No key can have this name, or the record does not match its kind.
            return b""
        return b"".join(edge_records.encode(line) + b"\n" for line in self._decoder.lines(found))

    def _find_host(self, host: str) -> list[StoredRecord]:
        found = self._find_one(edge_records.host_key(self._region, host))
        if not found:
            return []
        environment = self._find_one(
            edge_records.environment_key(self._region, _host(found[0].value or b"").environment)
        )
        if not environment:
            return found
        record = _environment(environment[0].value or b"")
        redirects = self._store.find_by_prefix(f"{self._region}.redirects.{record.site}.")
        return [
            *found,
            *environment,
            *redirects,
            *self._find_one(edge_records.node_key(self._region, record.node)),
        ]

    def _find_one(self, key: str) -> list[StoredRecord]:
        found = self._store.find(key)
        return [] if found is None else [found]


_REASONS = {200: "OK", 404: "Not Found", 405: "Method Not Allowed", 503: "Service Unavailable"}


async def _send(writer: asyncio.StreamWriter, status: int, body: bytes) -> None:
    head = (
        f"HTTP/1.1 {status} {_REASONS[status]}\r\nContent-Type: application/x-ndjson\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    writer.write(head.encode() + body)
    async with asyncio.timeout(RESPONSE_SECONDS):
        await writer.drain()
