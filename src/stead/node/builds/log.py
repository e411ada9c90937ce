"""What the customer reads while it builds: every line with its time and its step, and no secret in any."""

import base64
from collections.abc import Callable
from datetime import datetime
from urllib.parse import quote, urlsplit

from stead.node.drivers.driver import Output
from stead.node.lines import Lines
from stead.node.processes import Stream
from stead.protocol.work import Build, GitSource

SHORTEST = 4
"""Masking shorter ones would leave nothing to read."""
REMEMBERED = 50


class Log:
    def __init__(self, output: Output, secrets: tuple[str, ...], now: Callable[[], datetime]) -> None:
        self._output, self._secrets, self._now = output, secrets, now
        self._step = "build"
        self._streams: dict[Stream, Lines] = {}
        self.last: list[str] = []
        """Of what was said in this step."""

    def begin(self, step: str) -> None:
        self._step, self.last = step, []

    async def say(self, text: str) -> None:
        clean = self.masked(text)
        self._remember(clean)
        await self._output.say(f"{self._stamp}: {clean}")

    async def sink(self, stream: Stream, data: bytes) -> None:
        lines = self._streams.setdefault(stream, Lines(self._secrets))
        for line in lines.feed(data) if data else lines.rest():
            self._remember(line)
            await self._output.chunk(stream, f"{self._stamp} | {line}\n".encode())
        if not data:
            del self._streams[stream]
            await self._output.chunk(stream, b"")

    def masked(self, text: str) -> str:
        own = Lines(self._secrets)
        return "\n".join((*own.feed(text.encode()), *own.rest()))

    def _remember(self, line: str) -> None:
        self.last = [*self.last[1 - REMEMBERED :], line]

    @property
    def _stamp(self) -> str:
        return f"[{self._now():%H:%M:%S}] {self._step}"


def secrets_of(wanted: Build) -> tuple[str, ...]:
    """What must never be read in an output: the values, also as they are written in other common ways."""
    given = [value for _, value in wanted.variables]
    if isinstance(wanted.source, GitSource):
        given += [wanted.source.key, urlsplit(wanted.source.url).password or ""]
        given += [urlsplit(wanted.source.url).username or ""] if "://" in wanted.source.url else []
    else:
        given += [urlsplit(wanted.source.url).query]
    given += [urlsplit(wanted.layer_url).query]
    found: dict[str, None] = {}
    for value in given:
        for text in (value, *value.splitlines()):
            if len(text.strip()) >= SHORTEST:
                found |= dict.fromkeys(_ways_to_write(text))
    return tuple(found)


def _ways_to_write(text: str) -> list[str]:
    encoded = base64.b64encode(text.encode()).decode().rstrip("=")
    # The last character before the padding depends on what follows; without it the rest still gives it away.
    return [text, encoded[: len(encoded) - 1], quote(text, safe="")]
