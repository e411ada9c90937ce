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


class MemoryFull(AdminFailed):
    """A shared memory of the edge is full; nginx must be started with a larger one."""

    def __init__(self, dictionary: str) -> None:
        super().__init__(f"the edge's memory for {dictionary} is full")
        self.dictionary = dictionary


class EdgePosition(msgspec.Struct, frozen=True):
    instance: str
    """Identifies the shared memory. A new value means that the edge has lost all records."""
    revision: int


class EdgeState(EdgePosition, frozen=True):
    complete: bool
    hosts: int
    free: dict[str, int]


class _Refusal(msgspec.Struct, frozen=True):
    error: str
    dict: str = ""
    line: int = 0


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
        time."""
        body = b"\n".join(map(msgspec.json.encode, lines))
        return _decode(await self._request("POST", "/apply", body), EdgePosition)

    async def complete(self) -> EdgePosition:
        """Tell the edge that it has all records, so that an unknown name does not exist."""
        return _decode(await self._request("POST", "/complete"), EdgePosition)

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
        if status == 507:
            raise MemoryFull(msgspec.json.decode(response, type=_Refusal).dict)
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
