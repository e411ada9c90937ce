"""Who is visited: read from the ledger of this node's edge, and told to the control plane once a minute.

A moment is said again for a quarter of an hour, so that a worker which was away has missed nothing; and since
every line carries its moment, a line that is read twice says nothing new.
"""

import asyncio
import os
import time
from pathlib import Path

import msgspec
import nats.errors
import structlog

from stead.node.nats_connection import NatsConnection
from stead.node.uninterrupted import run_in_thread
from stead.protocol import subjects
from stead.protocol.commands import Activity, encode

EVERY_SECONDS = 60.0
SAID_FOR = 15 * 60.0
MOST_SAID = 500
"""How many environments one message names."""
MOST_KNOWN = 100_000
LOOK_BACK = 4 * 1024 * 1024
"""How much of a ledger that nobody has read yet is read."""
AT_ONCE = 1024 * 1024
LONGEST_LINE = 64 * 1024
NOWHERE = "::"
"""Where our own probes come from: a socket, which has no network."""

log = structlog.get_logger()


class LedgerLine(msgspec.Struct, frozen=True):
    ts: float
    environment: str
    address: str
    peer: str


_entry = msgspec.json.Decoder(LedgerLine).decode


class LedgerReader:
    """Reads on where it stopped; a ledger that was taken away is followed by a new one at its beginning."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._inode, self._offset = 0, 0

    def news(self) -> dict[str, float]:
        """When each environment was last visited, as far as that was not read before."""
        seen: dict[str, float] = {}
        try:
            with self._path.open("rb") as file:
                self._meet(file.fileno())
                file.seek(self._offset)
                while chunk := file.read(AT_ONCE):
                    whole = chunk.rpartition(b"\n")[0]
                    if not whole and len(chunk) < LONGEST_LINE:
                        break
                    # A line is never this long: what has no end is passed over.
                    self._offset += len(whole) + 1 if whole else len(chunk)
                    _note(whole, seen)
                    file.seek(self._offset)
        except FileNotFoundError:
            return {}
        return seen

    def _meet(self, descriptor: int) -> None:
        found = os.fstat(descriptor)
        if found.st_ino == self._inode and found.st_size >= self._offset:
            return
        first = self._inode == 0
        self._inode = found.st_ino
        self._offset = max(found.st_size - LOOK_BACK, 0) if first else 0


def _note(lines: bytes, seen: dict[str, float]) -> None:
    for line in lines.splitlines():
        try:
            entry = _entry(line)
        except msgspec.MsgspecError:
            # The first one of a look back is half a line.
            continue
        # What was passed on is counted there.
        counts = entry.environment and entry.address != NOWHERE and not entry.peer
        if counts and len(seen) < MOST_KNOWN:
            seen[entry.environment] = max(entry.ts, seen.get(entry.environment, 0.0))


class VisitReporter:
    def __init__(
        self, node: str, ledger: Path, link: NatsConnection, *, every: float = EVERY_SECONDS
    ) -> None:
        self._node, self._ledger, self._link, self._every = node, LedgerReader(ledger), link, every
        self._known: dict[str, float] = {}

    async def run(self) -> None:
        """For ever."""
        while True:
            await asyncio.sleep(self._every)
            try:
                self._known |= await run_in_thread(self._ledger.news)
                self._forget()
                await self._say()
            except (nats.errors.Error, OSError) as error:
                log.info("visits.delayed", error=type(error).__name__)

    def _forget(self) -> None:
        old = time.time() - SAID_FOR
        self._known = {env: moment for env, moment in self._known.items() if moment > old}

    async def _say(self) -> None:
        if not self._link.connected:
            return
        client, known = await self._link.client(), list(self._known.items())
        for start in range(0, len(known), MOST_SAID):
            said = Activity(self._node, dict(known[start : start + MOST_SAID]))
            await client.publish(subjects.activity(self._node), encode(said))
