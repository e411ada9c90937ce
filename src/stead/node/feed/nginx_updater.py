"""Sends records from the store to nginx, and notices when nginx was restarted."""

import asyncio
from collections.abc import Callable

import structlog

from stead.edge.admin import AdminFailed, EdgeAdmin, EdgePosition
from stead.node.feed.record_decoder import RecordDecoder
from stead.node.feed.record_store import RecordStore

BATCH = 1_000
BATCH_BYTES = 4 * 1024 * 1024
CHECK_SECONDS = 1.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0

log = structlog.get_logger()


class NginxUpdater:
    def __init__(
        self, store: RecordStore, nginx: EdgeAdmin, decoder: RecordDecoder, on_applied: Callable[[int], None]
    ) -> None:
        self._store, self._nginx, self._decoder, self._on_applied = store, nginx, decoder, on_applied
        self._changed = asyncio.Event()
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
        self._instance, self._change, self._completed = instance, 0, False

    def _check_instance(self, state: EdgePosition) -> bool:
        """Return whether nginx still has the records that were sent to it."""
        if state.instance == self._instance:
            return True
        log.info("edge.met", instance=state.instance)
        self._start_over(state.instance)
        return False

    async def _wait_for_change(self) -> None:
        """Wait for a change of the store; check from time to time whether nginx was restarted."""
        try:
            async with asyncio.timeout(CHECK_SECONDS):
                await self._changed.wait()
        except TimeoutError:
            self._check_instance(await self._nginx.state())

    async def _send_all(self) -> None:
        while True:
            self._changed.clear()
            pending = self._store.pending_after(self._change, BATCH, BATCH_BYTES)
            lines = self._decoder.lines(pending.records)
            if lines and not self._check_instance(await self._nginx.apply(lines)):
                continue
            self._change = pending.change
            if pending.records:
                self._store.remove_deleted(pending.change)
            if not pending.complete:
                continue
            if pending.caught_up and await self._complete():
                self._on_applied(pending.position)
            return

    async def _complete(self) -> bool:
        if not self._completed and self._check_instance(await self._nginx.complete()):
            self._completed = True
        return self._completed
