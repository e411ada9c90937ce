"""Sends records from the store to nginx, and notices when nginx was restarted."""

import asyncio
import time
from collections.abc import Callable, Sequence

import structlog

from stead.edge.admin import AdminFailed, EdgeAdmin, EdgePosition, LineRefused
from stead.node.feed.record_decoder import RecordDecoder
from stead.node.feed.record_store import PendingRecords, RecordStore
from stead.node.feed.skipped_records import MALFORMED, SkippedRecords
from stead.protocol.edge_records import RecordLine

BATCH = 1_000
BATCH_BYTES = 4 * 1024 * 1024
CHECK_SECONDS = 1.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0
WARM_CERTIFICATES = 2_000
"""A new nginx receives so many certificates at once. It looks up the others when visitors need them."""

_KeyedLine = tuple[str, RecordLine]
"""A line with the key of its record."""

log = structlog.get_logger()


class NginxUpdater:
    """`hop_keys` are for what edges tell each other, `preview_key` is for cookies of protected previews; None
    if the node has no key of its own. `on_applied` is called with the revision that nginx has
    applied, and the records that it skipped."""

    def __init__(
        self,
        store: RecordStore,
        nginx: EdgeAdmin,
        decoder: RecordDecoder,
        on_applied: Callable[[int, Sequence[str]], None],
        *,
        hop_keys: Sequence[bytes] = (),
        preview_key: bytes | None = None,
    ) -> None:
        self._store, self._nginx, self._decoder, self._on_applied = store, nginx, decoder, on_applied
        self._changed = asyncio.Event()
        self._skipped = SkippedRecords()
        self._position, self._hop_keys, self._preview_key = 0, hop_keys, preview_key
        self._start_over("")

    def wake(self) -> None:
        self._changed.set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        last_error, pause = "", FIRST_PAUSE
        while True:
            try:
                self._check_instance(await self._nginx.state())
                while True:
                    await self._send_all()
                    last_error, pause = "", FIRST_PAUSE
                    await self._wait_for_change()
            except AdminFailed as error:
                if last_error != (last_error := str(error)):
                    log.warning("edge.unreachable", reason=last_error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _start_over(self, instance: str) -> None:
        """Send everything again: a new nginx has no records, and what an older one has is unknown after a
        start."""
        self._instance, self._change = instance, 0
        self._knows_keys = self._completed = False
        self._snapshot_ends, self._warm = self._store.last_change, WARM_CERTIFICATES
        self._skipped.clear()

    def _check_instance(self, state: EdgePosition) -> bool:
        """Return whether nginx still has the records that were sent to it."""
        if state.instance == self._instance:
            return True
        log.info("edge.met", instance=state.instance)
        self._start_over(state.instance)
        return False

    async def _wait_for_change(self) -> None:
        """Wait for a change of the store; check from time to time whether nginx was restarted, and whether it
        has room for what it skipped."""
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            if self._check_instance(await self._nginx.state()):
                await self._retry_skipped()

    async def _send_all(self) -> None:
        while True:
            self._changed.clear()
            if not self._knows_keys:
                self._knows_keys = await self._send_keys()
            pending = self._store.pending_after(self._change, BATCH, BATCH_BYTES)
            if not await self._apply(self._lines(pending)):
                continue
            self._change = pending.change
            if pending.records:
                self._store.remove_deleted(pending.change)
            if not pending.complete:
                continue
            if pending.caught_up and await self._complete():
                self._position = pending.position
                self._on_applied(self._position, self._skipped.keys)
            return

    async def _send_keys(self) -> bool:
        """Return whether the nginx that has received them still runs."""
        if self._preview_key is not None:
            self._check_instance(await self._nginx.set_preview_key(self._preview_key))
        return self._check_instance(await self._nginx.set_hop_keys(self._hop_keys))

    def _lines(self, pending: PendingRecords) -> list[_KeyedLine]:
        """The lines of a batch. A new nginx gets most certificates without their content. A later change is
        sent in full, because nginx may be looking up the certificate that it replaces."""
        lines = []
        for record in pending.records:
            brief = pending.change <= self._snapshot_ends and self._warm <= 0
            if (line := self._decoder.line(record, brief=brief)) is not None:
                self._warm -= line.kind == "certificate"
                lines.append((record.key, line))
        return lines

    async def _apply(self, lines: Sequence[_KeyedLine]) -> bool:
        """Send lines to nginx, except those that it cannot read. Return whether it still has all others."""
        while lines:
            keys = [key for key, _ in lines]
            try:
                position = await self._nginx.apply(line for _, line in lines)
            except LineRefused as error:
                if not 1 <= error.line <= len(lines):
                    raise
                self._skipped.update(keys[: error.line], error.skipped)
                self._skipped.add(keys[error.line - 1], MALFORMED)
                lines = lines[error.line :]
                continue
            if not self._check_instance(position):
                return False
            self._skipped.update(keys, position.skipped)
            break
        return True

    async def _retry_skipped(self) -> None:
        """nginx may have got room since, because other records were deleted."""
        found = [self._store.find(key) for key in self._skipped.next_retry(time.monotonic())]
        lines = [(each.key, line) for each in found if each and (line := self._decoder.line(each))]
        if lines and await self._apply(lines) and self._completed:
            self._on_applied(self._position, self._skipped.keys)

    async def _complete(self) -> bool:
        if not self._completed and self._check_instance(await self._nginx.complete()):
            self._completed = True
        return self._completed
