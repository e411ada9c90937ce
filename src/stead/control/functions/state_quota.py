"""How much state the functions of an environment keep. What expires is noticed when the limit is reached:
then everything is counted again."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from stead.control.engines.nats_state import StateStream
from stead.control.engines.postgres import Database
from stead.control.functions import state_store
from stead.protocol.subjects import state_stream, state_subjects

MOST_KEYS, MAX_BYTES = 10_000, 16 << 20
COUNTED_EVERY = timedelta(minutes=1)


class StateQuotaExceeded(Exception):
    def __init__(self) -> None:
        megabytes = MAX_BYTES >> 20
        super().__init__(f"The functions of a site keep at most {MOST_KEYS} keys and {megabytes} MB.")


class StateQuota:
    def __init__(self, database: Database, stream: StateStream) -> None:
        self._database, self._stream = database, stream

    @asynccontextmanager
    async def reserve(self, environment: str, *, keys: int, size: int) -> AsyncIterator[None]:
        """Count what is added. It is given back if the block raises."""
        if keys <= 0 and size <= 0:
            yield
            if keys or size:
                await self.release(environment, keys=-keys, size=-size)
            return
        if not await self._add(environment, keys, size):
            await self._count_again(environment)
            if not await self._add(environment, keys, size):
                raise StateQuotaExceeded
        try:
            yield
        except BaseException:
            await self.release(environment, keys=keys, size=size)
            raise

    async def release(self, environment: str, *, keys: int, size: int) -> None:
        async with self._database.transaction() as tx:
            await state_store.add(tx, environment, -keys, -size)

    async def _add(self, environment: str, keys: int, size: int) -> bool:
        async with self._database.transaction() as tx:
            return await state_store.add_within(
                tx, environment, keys, size, most_keys=MOST_KEYS, max_bytes=MAX_BYTES
            )

    async def _count_again(self, environment: str) -> None:
        async with self._database.transaction() as tx:
            if not await state_store.claim_count(tx, environment, before=tx.now - COUNTED_EVERY):
                return
        stream = state_stream(environment)
        keys = size = 0
        for subject in await self._stream.list_subjects(stream, f"{state_subjects(environment)}.>"):
            entry = await self._stream.get(stream, subject)
            if entry.data:
                keys, size = keys + 1, size + len(entry.data) + len(subject.rpartition(".")[2]) // 2
        async with self._database.transaction() as tx:
            await state_store.set_usage(tx, environment, keys, size)
