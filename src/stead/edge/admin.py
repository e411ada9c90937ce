"""Telling an edge what to serve: a small client of its admin socket, one connection kept open."""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import msgspec

from stead.protocol.edge_records import RecordLine

PATIENCE = 30.0
LINES_A_POST = 1_000


class AdminFailed(Exception):
    """The edge could not be told."""


class MemoryFull(AdminFailed):
    """One of the edge's memories has no room; it must be started with more."""

    def __init__(self, dictionary: str) -> None:
        super().__init__(f"the edge's memory for {dictionary} is full")
        self.dictionary = dictionary


class EdgePosition(msgspec.Struct, frozen=True):
    instance: str
    """Another one than before means that the edge has forgotten everything."""
    revision: int


class EdgeState(EdgePosition, frozen=True):
    complete: bool
    hosts: int
    free: dict[str, int]


class _Refusal(msgspec.Struct, frozen=True):
    error: str
    dict: str = ""
    line: int = 0


A = TypeVar("A", bound=EdgePosition)


class EdgeAdmin:
    """Not for two tasks at once: what they say would arrive in an order of its own."""

    def __init__(self, socket: Path | str) -> None:
        self._socket = str(socket)
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def __aenter__(self) -> "EdgeAdmin":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def apply(self, lines: Iterable[RecordLine]) -> EdgePosition:
        """Returns when every visitor from now on meets them. At most about a thousand at a time."""
        body = b"\n".join(map(msgspec.json.encode, lines))
        return _read(await self._ask("POST", "/apply", body), EdgePosition)

    async def complete(self) -> EdgePosition:
        """Everything there is has been told: a name that is not known does not exist."""
        return _read(await self._ask("POST", "/complete"), EdgePosition)

    async def state(self) -> EdgeState:
        return _read(await self._ask("GET", "/state"), EdgeState)

    async def close(self) -> None:
        if self._streams is not None:
            _, writer = self._streams
            self._streams = None
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()

    async def _ask(self, method: str, path: str, body: bytes = b"") -> bytes:
        """A kept connection may have ended with an earlier nginx; all that is said may be said twice."""
        for fresh in (self._streams is None, True):
            try:
                async with asyncio.timeout(PATIENCE):
                    status, answer = await self._exchange(method, path, body)
                break
            except (OSError, EOFError, ValueError) as error:
                await self.close()
                if fresh:
                    raise AdminFailed(f"{method} {path}: {type(error).__name__}") from None
        if status == 507:
            raise MemoryFull(msgspec.json.decode(answer, type=_Refusal).dict)
        if status != 200:
            raise AdminFailed(
                f"{method} {path} was answered {status}: {answer[:200].decode(errors='replace')}"
            )
        return answer

    async def _exchange(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(self._socket)
        reader, writer = self._streams
        head = f"{method} {path} HTTP/1.1\r\nHost: edge\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        status, length = await _head(reader)
        return status, await (_chunks(reader) if length is None else reader.readexactly(length))


def _read(answer: bytes, kind: type[A]) -> A:
    try:
        return msgspec.json.decode(answer, type=kind)
    except msgspec.MsgspecError:
        raise AdminFailed("the edge's answer makes no sense") from None


async def _head(reader: asyncio.StreamReader) -> tuple[int, int | None]:
    status = int((await _line(reader)).split(b" ")[1])
    length: int | None = None
    while line := await _line(reader):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            length = int(value)
    return status, length


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int(await _line(reader), 16):
        parts.append(await reader.readexactly(size))
        await _line(reader)
    await _line(reader)
    return b"".join(parts)


async def _line(reader: asyncio.StreamReader) -> bytes:
    return (await reader.readuntil(b"\n")).rstrip(b"\r\n")
