"""Tells nginx what the store holds and it has not heard, and notices when another nginx is there."""

import asyncio
from collections.abc import Callable

import structlog

from stead.edge.admin import AdminFailed, EdgeAdmin, EdgePosition
from stead.node.feed.record_decoder import RecordDecoder
from stead.node.feed.record_store import RecordStore

BATCH = 1_000
BATCH_BYTES = 4 * 1024 * 1024
WATCH_SECONDS = 1.0
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 1.0

log = structlog.get_logger()


class NginxUpdater:
    def __init__(
        self, store: RecordStore, edge: EdgeAdmin, wording: RecordDecoder, applied: Callable[[int], None]
    ) -> None:
        self._store, self._edge, self._wording, self._applied = store, edge, wording, applied
        self._something = asyncio.Event()
        self._forget("")

    def wake(self) -> None:
        self._something.set()

    async def run(self) -> None:
        """For ever."""
        said, pause = "", FIRST_PAUSE
        while True:
            try:
                self._meet(await self._edge.state())
                while True:
                    await self._tell_all()
                    said, pause = "", FIRST_PAUSE
                    await self._changed()
            except AdminFailed as error:
                if said != (said := str(error)):
                    log.warning("edge.unreachable", reason=said)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    def _forget(self, instance: str) -> None:
        """A new nginx knows nothing; neither do we know what an nginx from before our start knows."""
        self._instance, self._change, self._completed = instance, 0, False

    def _meet(self, state: EdgePosition) -> bool:
        """Whether it is still the one we have been talking to."""
        if state.instance == self._instance:
            return True
        log.info("edge.met", instance=state.instance)
        self._forget(state.instance)
        return False

    async def _changed(self) -> None:
        """Until there is something to tell, or it is time to see who is there."""
        try:
            async with asyncio.timeout(WATCH_SECONDS):
                await self._something.wait()
        except TimeoutError:
            self._meet(await self._edge.state())

    async def _tell_all(self) -> None:
        while True:
            self._something.clear()
            untold = self._store.after(self._change, BATCH, BATCH_BYTES)
            lines = self._wording.lines(untold.records)
            if lines and not self._meet(await self._edge.apply(lines)):
                continue
            self._change = untold.change
            if untold.records:
                self._store.told(untold.change)
            if not untold.whole:
                continue
            if untold.settled and await self._complete():
                self._applied(untold.position)
            return

    async def _complete(self) -> bool:
        if not self._completed and self._meet(await self._edge.complete()):
            self._completed = True
        return self._completed
