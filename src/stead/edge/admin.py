"""A client of the edge's admin socket, which tells nginx what to serve. It keeps one connection open."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from stead.protocol.edge_records import RecordLine

TIMEOUT_SECONDS = 30.0
MAX_LINES = 1_000


class AdminFailed(Exception):
    """The edge did not accept the request."""


class LineRefused(AdminFailed):
    """The edge cannot read a line. It has applied all lines before it, and none after it."""

    def __init__(self, line: int, skipped: "tuple[SkippedLine, ...]" = ()) -> None:
        super().__init__(f"POST /apply was answered 400: line {line} is malformed")
        self.line, self.skipped = line, skipped


class SkippedLine(msgspec.Struct, frozen=True):
    """A record for which a shared memory of the edge has no room."""

    line: int
    """The number of the line in the request, from 1."""
    dict: str
    """The name of the memory."""


class EdgePosition(msgspec.Struct, frozen=True):
    instance: str
    """Identifies the shared memory. A new value means that the edge has lost all records."""
    revision: int
    skipped: tuple[SkippedLine, ...] = ()


class PurgedPosition(EdgePosition, frozen=True, kw_only=True):
    refused: int
    """For how many purges the memory of the edge has no room."""


class NodePurge(msgspec.Struct, frozen=True, omit_defaults=True):
    """A purge by the node itself: of pages with one of the tags, or of all pages of the environment."""

    environment: str
    tags: tuple[str, ...] | None = None


class EdgeState(EdgePosition, frozen=True, kw_only=True):
    complete: bool
    hosts: int
    free: dict[str, int]
    """The free bytes of each shared memory, in whole pages."""
    size: dict[str, int] = {}
    """The bytes of each shared memory. Empty for an nginx that was started by an older version."""


class _Refusal(msgspec.Struct, frozen=True):
    line: int = 0
    skipped: tuple[SkippedLine, ...] = ()


P = TypeVar("P", bound=EdgePosition)


class EdgeAdmin:
    """Must not be used by two tasks at the same time: the order of their records would be undefined."""

    def __init__(self, socket: Path | str) -> None:
        self._socket = str(socket)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> "EdgeAdmin":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def apply(self, lines: Iterable[RecordLine]) -> EdgePosition:
        """Return when the edge uses the records for every further request. At most about a thousand at a
        time. Records that do not fit in its memory are skipped; the position says which."""
        body = b"\n".join(map(msgspec.json.encode, lines))
        return _decode(await self._request("POST", "/apply", body), EdgePosition)

    async def purge(self, purges: Iterable[NodePurge]) -> PurgedPosition:
        """Return when no further request gets a page that is purged. The edge forgets purges together with
        its pages, so they need no record."""
        body = b"\n".join(map(msgspec.json.encode, purges))
        return _decode(await self._request("POST", "/purge", body), PurgedPosition)

    async def complete(self) -> EdgePosition:
        """Tell the edge that it has all records, so that an unknown name does not exist."""
        return _decode(await self._request("POST", "/complete"), EdgePosition)

    async def set_hop_keys(self, keys: Iterable[bytes]) -> EdgePosition:
        """Set the keys of what edges tell each other about visitors: the first one signs, all verify."""
        body = " ".join(key.hex() for key in keys).encode()
        return _decode(await self._request("POST", "/hop-keys", body), EdgePosition)

    async def set_preview_key(self, key: bytes) -> EdgePosition:
        """Set the key for the cookies of protected previews."""
        return _decode(await self._request("POST", "/preview-key", key.hex().encode()), EdgePosition)

    async def state(self) -> EdgeState:
        return _decode(await self._request("GET", "/state"), EdgeState)

    async def close(self) -> None:
        if self._streams is not None:
            _, writer = self._streams
            self._streams = None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _request(self, method: str, path: str, body: bytes = b"") -> bytes:
        """Try twice: nginx may have been restarted since the connection was opened. All requests can be
        repeated."""
        for fresh in (self._streams is None, True):
            try:
                async with asyncio.timeout(TIMEOUT_SECONDS):
                    status, response = await self._exchange(method, path, body)
                break
            except (OSError, EOFError, ValueError) as error:
                await self.close()
                if fresh:
                    raise AdminFailed(f"{method} {path}: {type(error).__name__}") from None
        if status == 400 and path == "/apply":
            refusal = msgspec.json.decode(response, type=_Refusal)
            raise LineRefused(refusal.line, refusal.skipped)
        if status != 200:
            raise AdminFailed(
                f"{method} {path} was answered {status}: {response[:200].decode(errors='replace')}"
            )
        return response

    async def _exchange(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(self._socket)
        reader, writer = self._streams
        head = f"{method} {path} HTTP/1.1\r\nHost: edge\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        status, length = await _read_head(reader)
        return status, await (_read_chunks(reader) if length is None else reader.readexactly(length))


def _decode(response: bytes, kind: type[P]) -> P:
    try:
        return msgspec.json.decode(response, type=kind)
    except msgspec.MsgspecError:
        raise AdminFailed("the edge's answer cannot be read") from None


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, int | None]:
    status = int((await _read_line(reader)).split(b" ")[1])
    length: int | None = None
    while line := await _read_line(reader):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return status, length


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int(await _read_line(reader), 16):
        parts.append(await reader.readexactly(size))
        await _read_line(reader)
    await _read_line(reader)
    return b"".join(parts)


async def _read_line(reader: asyncio.StreamReader) -> bytes:
    return (await reader.readuntil(b"\n")).rstrip(b"\r\n")
