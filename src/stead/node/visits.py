"""Reports visits: reads the ledger of this node's edge, and tells the control plane once a minute when each
environment was last visited.

Every report is repeated for a quarter of an hour, so that a worker that was offline misses nothing. Reports
contain the time of the visit, so a repetition changes nothing.
"""

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec
import nats.errors
import structlog

from stead.edge.ledger import LedgerStillOpen
from stead.node.ledger_rotation import LedgerRotation
from stead.node.nats_connection import NatsConnection
from stead.node.uninterrupted import run_in_thread
from stead.protocol import subjects
from stead.protocol.commands import MAX_REPORTED, Activity, encode

REPORT_SECONDS = 60.0
REPEAT_SECONDS = 15 * 60.0
REPEAT_CHANGES_SECONDS = 30 * 60.0
MAX_ENVIRONMENTS = 100_000
MAX_LOOK_BACK = 4 * 1024 * 1024
"""How much of an existing ledger is read after a start."""
CHUNK = 1024 * 1024
MAX_LINE_BYTES = 64 * 1024
_ANOTHER_FILE = -1
"""In place of an inode: the next file is read from its beginning."""
VITALS_PATH = "/_stead/vitals"
"""Browsers send there what they have measured. The application is not asked."""
_LIMITED = "function_rate_limit"
MAX_LIMITED = 10_000
PROBE_ADDRESS = "::"
"""The address in the ledger for the node's own probes, which come through a socket."""

log = structlog.get_logger()


class LedgerLine(msgspec.Struct, frozen=True):
    ts: float
    environment: str
    address: str
    peer: str
    host: str = ""
    method: str = ""
    path: str = ""
    status: int = 0
    cache: str = ""
    reason: str = ""
    function: str = ""


OnPage = Callable[[str, str, str], None]
"""Called with environment, host and path for each visit to a page that may be in the cache."""

_decode_line = msgspec.json.Decoder(LedgerLine).decode


class LedgerReader:
    """Continues where the last read stopped. After a rotation it reads the new ledger from its beginning."""

    def __init__(self, path: Path, on_page: OnPage = lambda *_: None) -> None:
        self._path, self._on_page = path, on_page
        self._inode, self._offset = 0, 0
        self.limited: dict[str, float] = {}
        """When a request of each version of a function was last refused, because there were too many."""

    def read_new(self) -> dict[str, float]:
        """When each environment was last visited, according to the lines since the last call."""
        return self._read(self._path)

    def read_rest(self, rotated: Path) -> dict[str, float]:
        """The same, for the lines that were still written to a ledger that has been rotated."""
        visited = self._read(rotated)
        self._inode = _ANOTHER_FILE
        return visited

    def _read(self, path: Path) -> dict[str, float]:
        visited: dict[str, float] = {}
        try:
            with path.open("rb") as file:
                self._check_rotation(file.fileno())
                file.seek(self._offset)
                while chunk := file.read(CHUNK):
                    complete = chunk.rpartition(b"\n")[0]
                    if not complete and len(chunk) < MAX_LINE_BYTES:
                        break
                    # No real line is this long, so an endless one is skipped.
                    self._offset += len(complete) + 1 if complete else len(chunk)
                    self._collect(complete, visited)
                    file.seek(self._offset)
        except FileNotFoundError:
            return {}
        return visited

    def _check_rotation(self, descriptor: int) -> None:
        status = os.fstat(descriptor)
        if status.st_ino == self._inode and status.st_size >= self._offset:
            return
        first = self._inode == 0
        self._inode = status.st_ino
        self._offset = max(status.st_size - MAX_LOOK_BACK, 0) if first else 0

    def _collect(self, lines: bytes, visited: dict[str, float]) -> None:
        for line in lines.splitlines():
            try:
                visit = _decode_line(line)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                # The first read may begin in the middle of a line, and nginx writes the bytes of a visitor as
                # they are.
                continue
            # A request that was forwarded to another node is counted there.
            counts = visit.environment and visit.address != PROBE_ADDRESS and not visit.peer
            if counts and visit.path != VITALS_PATH and len(visited) < MAX_ENVIRONMENTS:
                visited[visit.environment] = max(visit.ts, visited.get(visit.environment, 0.0))
                if visit.reason == _LIMITED and visit.function and len(self.limited) < MAX_LIMITED:
                    self.limited[f"fnv_{visit.function}"] = visit.ts
                if visit.cache and visit.method == "GET" and visit.status == 200:
                    self._on_page(visit.environment, visit.host, visit.path)


class VisitReporter:
    def __init__(
        self,
        node: str,
        ledger: Path,
        connection: NatsConnection,
        rotation: LedgerRotation,
        *,
        every: float = REPORT_SECONDS,
        on_page: OnPage = lambda *_: None,
    ) -> None:
        self._node, self._connection, self._every = node, connection, every
        self._ledger, self._rotation = LedgerReader(ledger, on_page), rotation
        self._visited: dict[str, float] = {}
        self._has_read, self._read_since = False, time.time()
        self.list_changed: Callable[[], Mapping[str, float]] = dict
        """When plugins or themes of environments were changed."""

    def visited_ago(self, environment: str) -> float | None:
        """How many seconds ago the environment was visited, at least; None before the ledger was read."""
        if not self._has_read:
            return None
        return time.time() - self._visited.get(environment, self._read_since)

    async def run(self) -> None:
        """Runs until it is cancelled."""
        while True:
            await asyncio.sleep(self._every)
            try:
                self._visited |= await run_in_thread(self._ledger.read_new)
                self._has_read = True
                self._remove_old()
                await self._publish()
            except (nats.errors.Error, OSError) as error:
                log.info("visits.delayed", error=type(error).__name__)
            await self._rotate()

    async def _rotate(self) -> None:
        try:
            rotated = await self._rotation.rotate_if_due()
            if rotated is not None:
                self._visited |= await run_in_thread(self._ledger.read_rest, rotated)
                await run_in_thread(self._rotation.remove_old)
        except (LedgerStillOpen, OSError) as error:
            log.warning("ledger.not_rotated", error=type(error).__name__)

    def _remove_old(self) -> None:
        oldest = time.time() - REPEAT_SECONDS
        self._visited = {
            environment: moment for environment, moment in self._visited.items() if moment > oldest
        }
        limited = self._ledger.limited
        self._ledger.limited = {version: moment for version, moment in limited.items() if moment > oldest}

    async def _publish(self) -> None:
        if not self._connection.connected:
            return
        client, visited = await self._connection.client(), list(self._visited.items())
        for start in range(0, len(visited), MAX_REPORTED):
            activity = Activity(self._node, dict(visited[start : start + MAX_REPORTED]))
            await client.publish(subjects.activity(self._node), encode(activity))
        limited = list(self._ledger.limited.items())
        for start in range(0, len(limited), MAX_REPORTED):
            activity = Activity(self._node, {}, dict(limited[start : start + MAX_REPORTED]))
            await client.publish(subjects.activity(self._node), encode(activity))
        oldest = time.time() - REPEAT_CHANGES_SECONDS
        changed = [each for each in self.list_changed().items() if each[1] > oldest]
        for start in range(0, len(changed), MAX_REPORTED):
            activity = Activity(self._node, {}, {}, dict(changed[start : start + MAX_REPORTED]))
            await client.publish(subjects.activity(self._node), encode(activity))
