"""The log of a build, which the customer reads while it runs: every line with its time and step, and without
secrets."""

import base64
from collections.abc import Callable
from datetime import datetime
from urllib.parse import quote, urlsplit

from stead.node.drivers.driver import Output
from stead.node.lines import Lines
from stead.node.processes import StreamName
from stead.protocol.work import Build, GitSource

SHORTEST_SECRET = 4
"""Shorter values are not masked: they occur in ordinary text everywhere."""
LAST_LINES = 50


class BuildLog:
    def __init__(self, output: Output, secrets: tuple[str, ...], now: Callable[[], datetime]) -> None:
        self._output, self._secrets, self._now = output, secrets, now
        self._step = "build"
        self._streams: dict[StreamName, Lines] = {}
        self.last_lines: list[str] = []
        """Of the current step."""

    def begin_step(self, step: str) -> None:
        self._step, self.last_lines = step, []

    async def say(self, text: str) -> None:
        clean = self.mask(text)
        self._remember(clean)
        await self._output.say(f"{self._stamp}: {clean}")

    async def sink(self, stream: StreamName, data: bytes) -> None:
        lines = self._streams.setdefault(stream, Lines(self._secrets))
        for line in lines.feed(data) if data else lines.flush():
            self._remember(line)
            await self._output.chunk(stream, f"{self._stamp} | {line}\n".encode())
        if not data:
            del self._streams[stream]
            await self._output.chunk(stream, b"")

    def mask(self, text: str) -> str:
        lines = Lines(self._secrets)
        return "\n".join((*lines.feed(text.encode()), *lines.flush()))

    def _remember(self, line: str) -> None:
        self.last_lines = [*self.last_lines[1 - LAST_LINES :], line]

    @property
    def _stamp(self) -> str:
        return f"[{self._now():%H:%M:%S}] {self._step}"


def secrets_of(wanted: Build) -> tuple[str, ...]:
    """What must not appear in any output: the secret values, plain and in common encodings."""
    values = [value for _, value in wanted.variables]
    if isinstance(wanted.source, GitSource):
        values += [wanted.source.key, urlsplit(wanted.source.url).password or ""]
        values += [urlsplit(wanted.source.url).username or ""] if "://" in wanted.source.url else []
    else:
        values += [urlsplit(wanted.source.url).query]
    values += [urlsplit(wanted.layer_url).query]
    found: dict[str, None] = {}
    for value in values:
        for text in (value, *value.splitlines()):
            if len(text.strip()) >= SHORTEST_SECRET:
                found |= dict.fromkeys(_encodings(text))
    return tuple(found)


def _encodings(text: str) -> list[str]:
    encoded = base64.b64encode(text.encode()).decode().rstrip("=")
    # The last character before the padding depends on the text that follows, so it is not part of the mask.
    return [text, encoded[: len(encoded) - 1], quote(text, safe="")]
