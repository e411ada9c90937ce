"""Removes the state of environments that do not exist any more. It would stay for ever, and the space is
shared."""

from datetime import timedelta

import structlog

from stead.control.engines.nats_state import RevisionConflict, StateStream
from stead.control.engines.postgres import Database
from stead.control.functions import state_store
from stead.protocol.subjects import state_stream, state_subjects

GRACE = timedelta(minutes=1)
"""Longer than a worker remembers which node carries an environment."""
BATCH_SIZE = 20
EXPIRES_SECONDS = 1

log = structlog.get_logger()


class StateRemoval:
    def __init__(self, database: Database, stream: StateStream) -> None:
        self._database, self._stream = database, stream

    async def run(self) -> None:
        async with self._database.transaction() as tx:
            await state_store.mark_orphans(tx)
            orphans = await state_store.list_orphans(tx, before=tx.now - GRACE, limit=BATCH_SIZE)
        for environment in orphans:
            removed = await self._remove(environment)
            log.info("function_state.removed", environment=environment, keys=removed)

    async def _remove(self, environment: str) -> int:
        """Replace every value by nothing, which expires at once. A worker may not delete messages."""
        stream = state_stream(environment)
        found = await self._stream.list_subjects(stream, f"{state_subjects(environment)}.>")
        for subject in found:
            entry = await self._stream.get(stream, subject)
            if entry.revision:
                try:
                    await self._stream.put(subject, b"", revision=entry.revision, expires=EXPIRES_SECONDS)
                except RevisionConflict:
                    # Another worker removes it, too.
                    continue
        async with self._database.transaction() as tx:
            await state_store.forget(tx, environment)
        return len(found)
