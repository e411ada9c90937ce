"""The log of a build, which the customer reads while it runs: every line with its time and step, and without
secrets."""

import base64
import json
from collections.abc import Callable
from datetime import datetime
from urllib.parse import quote, quote_plus, urlsplit

from stead.node.drivers.driver import Output
from stead.node.lines import Lines
from stead.node.processes import StreamName
from stead.protocol.work import ArchiveSource, Build, GitSource
from stead.shared.build_variables import SHORTEST_SECRET

LAST_LINES = 50
SHORTEST_ENCODED = 6
"""Encoded, shorter values occur in ordinary text, too."""
_URL_SAFE = str.maketrans("+/", "-_")


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
    elif isinstance(wanted.source, ArchiveSource):
        values += [urlsplit(wanted.source.url).query]
    values += [urlsplit(wanted.layer_url).query]
    found: dict[str, None] = {}
    for value in values:
        for text in (value, *value.splitlines()):
            if len(text.strip()) >= SHORTEST_SECRET:
                found |= dict.fromkeys(_encodings(text))
    return tuple(found)


def _encodings(text: str) -> list[str]:
    """The text as it is, inside a URL, a JSON text and a form, in hexadecimal, and in base64 wherever in a
    longer text it begins. Letters that depend on what follows or precedes are not part of the mask."""
    raw = text.encode()
    found = [text, json.dumps(text)[1:-1], json.dumps(text, ensure_ascii=False)[1:-1]]
    found += [quote(text, safe=""), quote_plus(text)]
    if len(raw) < SHORTEST_ENCODED:
        return found
    found += [raw.hex(), raw.hex().upper()]
    for shift in range(3):
        encoded = base64.b64encode(bytes(shift) + raw).decode()
        inside = encoded[(0, 2, 3)[shift] : len(bytes(shift) + raw) * 8 // 6]
        found += [inside, inside.translate(_URL_SAFE)]
    return found
