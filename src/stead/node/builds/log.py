"""The log of a build, which the customer reads while it runs: every line with its time and step, and without
secrets."""

import asyncio
import base64
import json
import time
from collections.abc import AsyncIterator, Callable
from datetime import datetime
from urllib.parse import quote, quote_plus, urlsplit

from stead.node.drivers.driver import Output
from stead.node.lines import Lines
from stead.node.processes import StreamName
from stead.protocol.work.builds import ArchiveSource, Build, GitSource
from stead.shared.build_variables import SHORTEST_SECRET

LAST_LINES = 50
SHORTEST_ENCODED = 6
"""Encoded, shorter values occur in ordinary text, too."""
SHORTEST_LINE = 8
"""Shorter lines of a longer secret say little about it, and occur in ordinary text, too."""
MASKING_SHARE = 0.2
"""How much of the agent's time a build can use to mask what it prints. The customer decides how many secrets
there are and how much is printed, and all sites of the node wait for the same agent."""
PIECE_BYTES = 2 * 1024
"""So much is masked before others get their turn."""
SHORTEST_PAUSE = 0.005
_URL_SAFE = str.maketrans("+/", "-_")


class BuildLog:
    def __init__(self, output: Output, secrets: tuple[str, ...], now: Callable[[], datetime]) -> None:
        self._output, self._secrets, self._now = output, secrets, now
        self._step = "build"
        self._streams: dict[StreamName, Lines] = {}
        self.last_lines: list[str] = []
        """Of the current step."""
        self._owed = 0.0
        """The seconds that the build has to wait, because others waited while its output was masked."""

    def begin_step(self, step: str) -> None:
        self._step, self.last_lines = step, []

    async def say(self, text: str) -> None:
        began = time.thread_time()
        clean = self.mask(text)
        await self._wait_for_others(began)
        self._remember(clean)
        await self._output.say(f"{self._stamp}: {clean}")

    async def sink(self, stream: StreamName, data: bytes) -> None:
        lines = self._streams.setdefault(stream, Lines(self._secrets))
        async for line in self._masked(lines, data):
            self._remember(line)
            await self._output.chunk(stream, f"{self._stamp} | {line}\n".encode())
        if not data:
            del self._streams[stream]
            await self._output.chunk(stream, b"")

    async def _masked(self, lines: Lines, data: bytes) -> AsyncIterator[str]:
        for start in range(0, len(data), PIECE_BYTES) or [None]:
            began = time.thread_time()
            found = lines.flush() if start is None else lines.feed(data[start : start + PIECE_BYTES])
            await self._wait_for_others(began)
            for line in found:
                yield line

    async def _wait_for_others(self, began: float) -> None:
        self._owed += (time.thread_time() - began) * (1 / MASKING_SHARE - 1)
        if self._owed >= SHORTEST_PAUSE:
            pause, self._owed = self._owed, 0.0
            await asyncio.sleep(pause)

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
        if len(value.strip()) >= SHORTEST_SECRET:
            found |= dict.fromkeys(_encodings(value))
        for line in value.splitlines():
            if len(line.strip()) >= SHORTEST_LINE:
                found |= dict.fromkeys(_encodings(line))
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
