"""A client of server-sent events, written after the standard, on a plain socket: five hundred of them must
cost less than the server under test."""

import asyncio
import codecs
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import httptools
import msgspec

from stead.dev.supervised_program import LOOPBACK
from tests.patience import time_limit

BOUND = 30.0
MESSAGE = "message"
_END_OF_LINE = re.compile("\r\n|\n|\r")


@dataclass(frozen=True)
class Frame:
    event: str
    data: str
    id: str


@dataclass
class Heard:
    """What one connection has received, parsed as a browser would."""

    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    body: bytearray = field(default_factory=bytearray)
    frames: list[Frame] = field(default_factory=list)
    comments: int = 0
    retry: str = ""
    last_id: str = ""
    ended: bool = False

    @property
    def lines(self) -> list[str]:
        return [frame.data for frame in self.frames if frame.event == MESSAGE]

    @property
    def jobs(self) -> list[dict[str, object]]:
        return [msgspec.json.decode(frame.data) for frame in self.frames if frame.event == "job"]

    @property
    def statuses(self) -> list[object]:
        return [job["status"] for job in self.jobs]

    @property
    def done(self) -> list[dict[str, str]]:
        return [msgspec.json.decode(frame.data) for frame in self.frames if frame.event == "done"]

    def forget_after(self, frames: int) -> None:
        """The same, as if the connection had broken after this many frames."""
        del self.frames[frames:]
        self.last_id = self.frames[-1].id if self.frames else ""


class _Parser:
    """Fields, comments and blank lines; any of CR, LF and CRLF ends a line."""

    def __init__(self, heard: Heard) -> None:
        self._heard = heard
        self._decode = codecs.getincrementaldecoder("utf-8")("strict").decode
        self._begun, self._event, self._data = "", "", list[str]()

    def feed(self, body: bytes) -> None:
        text = self._begun + self._decode(body)
        held = "\r" if text.endswith("\r") else ""
        *lines, self._begun = _END_OF_LINE.split(text.removesuffix(held))
        self._begun += held
        for line in lines:
            self._line(line)

    def _line(self, line: str) -> None:
        if not line:
            self._dispatch()
            return
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if not name:
            self._heard.comments += 1
        elif name == "event":
            self._event = value
        elif name == "data":
            self._data.append(value)
        elif name == "id" and "\0" not in value:
            self._heard.last_id = value
        elif name == "retry":
            self._heard.retry = value

    def _dispatch(self) -> None:
        if self._data:
            frame = Frame(self._event or MESSAGE, "\n".join(self._data), self._heard.last_id)
            self._heard.frames.append(frame)
        self._event, self._data = "", []


class Listener:
    """One connection. `heard` grows while `until` is awaited."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.heard = Heard()
        self._reader, self._writer = reader, writer
        self._parser = _Parser(self.heard)
        self._http = httptools.HttpResponseParser(self)

    def on_header(self, name: bytes, value: bytes) -> None:
        self.heard.headers[name.decode().lower()] = value.decode()

    def on_headers_complete(self) -> None:
        self.heard.status = self._http.get_status_code()

    def on_body(self, body: bytes) -> None:
        if self.heard.headers.get("content-type") == "text/event-stream":
            self._parser.feed(body)
        else:
            self.heard.body += body

    def on_message_complete(self) -> None:
        self.heard.ended = True

    async def until(self, holds: Callable[[Heard], bool], *, within: float = BOUND) -> Heard:
        """Read until the condition holds for what was received."""
        try:
            async with time_limit(within):
                while not holds(self.heard):
                    assert not self.heard.ended, f"it ended before: {_brief(self.heard)}"
                    if chunk := await self._reader.read(65_536):
                        self._http.feed_data(chunk)
                    else:
                        self.heard.ended = True
        except TimeoutError:
            raise AssertionError(f"not within {within:g} s: {_brief(self.heard)}") from None
        return self.heard

    async def to_the_end(self, *, within: float = BOUND) -> Heard:
        return await self.until(lambda heard: heard.ended, within=within)

    def leave(self) -> None:
        """Close without a message, like a client that lost its network."""
        self._writer.transport.abort()


@asynccontextmanager
async def listening(
    port: int, job: str, secret: str, *, after: str = "", version: str = ""
) -> AsyncIterator[Listener]:
    reader, writer = await asyncio.open_connection(LOOPBACK, port)
    headers = {
        "Host": f"{LOOPBACK}:{port}",
        "Authorization": f"Bearer {secret}",
        "Accept": "text/event-stream",
        "Connection": "close",
        **({"Last-Event-ID": after} if after else {}),
        **({"Api-Version": version} if version else {}),
    }
    fields = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    writer.write(f"GET /v1/jobs/{job}/stream HTTP/1.1\r\n{fields}\r\n".encode("latin-1"))
    listener = Listener(reader, writer)
    try:
        yield listener
    finally:
        listener.leave()


def _brief(heard: Heard) -> str:
    return f"{heard.status}, {len(heard.frames)} frames, the last {heard.frames[-3:]}, {bytes(heard.body)!r}"
