"""The node's end of nginx's admin socket: HTTP over a connection that is kept."""

import asyncio
from collections.abc import Iterable
from pathlib import Path

import httptools
import msgspec

from stead.protocol.edge import EdgeState, Line, decode_state, encode

ANSWER_SECONDS = 10.0
CHUNK = 64 * 1024
LONGEST_ANSWER = 64 * 1024


class EdgeUnreachable(Exception):
    """nginx is not there, or did not take what it was told; the message says which."""


class Edge:
    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def state(self) -> EdgeState:
        return await self._ask("GET", "/state")

    async def apply(self, lines: Iterable[Line]) -> EdgeState:
        """Taken as a whole when this returns."""
        return await self._ask("POST", "/apply", b"".join(encode(line) + b"\n" for line in lines))

    async def complete(self) -> EdgeState:
        """Says that it knows everything there is to know."""
        return await self._ask("POST", "/complete")

    def close(self) -> None:
        if self._connection is not None:
            self._connection[1].close()
            self._connection = None

    async def _ask(self, method: str, path: str, body: bytes = b"") -> EdgeState:
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                status, answer = await self._exchange(method, path, body)
        except (OSError, EOFError, TimeoutError, httptools.HttpParserError) as error:
            self.close()
            raise EdgeUnreachable(type(error).__name__) from None
        except BaseException:
            # The rest of the answer would be taken for the next one.
            self.close()
            raise
        if status != 200:
            raise EdgeUnreachable(f"{path} was answered {status}")
        try:
            state: EdgeState = decode_state(answer)
        except msgspec.MsgspecError as error:
            raise EdgeUnreachable(type(error).__name__) from None
        return state

    async def _exchange(self, method: str, path: str, body: bytes) -> tuple[int, bytes]:
        if self._connection is not None and self._connection[0].at_eof():
            self.close()
        if self._connection is None:
            self._connection = await asyncio.open_unix_connection(self._socket)
        reader, writer = self._connection
        head = f"{method} {path} HTTP/1.1\r\nHost: edge\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        await writer.drain()
        answer = _Answer()
        while not answer.complete:
            data = await reader.read(CHUNK)
            if not data:
                raise EOFError
            answer.feed(data)
        if not answer.kept_alive:
            self.close()
        return answer.status, answer.body


class _Answer:
    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self.body, self.complete, self.kept_alive = b"", False, False

    def feed(self, data: bytes) -> None:
        self._parser.feed_data(data)

    @property
    def status(self) -> int:
        return int(self._parser.get_status_code())

    def on_body(self, body: bytes) -> None:
        self.body += body
        if len(self.body) > LONGEST_ANSWER:
            raise EdgeUnreachable("too long an answer")

    def on_message_complete(self) -> None:
        self.complete, self.kept_alive = True, self._parser.should_keep_alive()
