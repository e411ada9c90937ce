"""How much state functions keep: those of an environment, and those of all sites of an owner. The space is
shared by everybody.

An environment gets pieces of what its owner may keep, so a change needs one statement as long as it fits into
what the environment has got. What expires is noticed when a limit is reached: then everything is counted
again.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

from stead.control.engines.nats_state import StateStream
from stead.control.engines.postgres import Database
from stead.control.functions import state_store
from stead.control.plans import service as plans
from stead.protocol.subjects import state_stream, state_subjects

MOST_KEYS, MAX_BYTES = 10_000, 16 << 20
PIECE_BYTES = 1 << 20
ENTRY_BYTES = 256
"""What NATS stores with a key besides the key and the value: the other words of the subject, and headers."""
COUNTED_EVERY = timedelta(minutes=1)
COUNTS_AT_ONCE = 2
SETTLING_SECONDS = 0.5
"""What was reserved before a count begins is stored after this time."""
REFUSED_SECONDS = 1.0
"""So long a refusal is repeated without a query."""
_MOST_REFUSALS = 10_000


class StateQuotaExceeded(Exception):
    """The message says which limit was reached."""


def measure(key: bytes, value: bytes) -> int:
    """How much of the quota an entry uses. NATS stores the key in hexadecimal."""
    return len(value) + 2 * len(key) + ENTRY_BYTES


class StateQuota:
    def __init__(self, database: Database, stream: StateStream) -> None:
        self._database, self._stream = database, stream
        self._counts = asyncio.Semaphore(COUNTS_AT_ONCE)
        self._refusals: dict[str, tuple[float, str]] = {}

    @asynccontextmanager
    async def reserve(self, environment: str, *, keys: int, size: int) -> AsyncIterator[None]:
        """Count what is added. It is given back if the block raises."""
        if keys <= 0 and size <= 0:
            yield
            if keys or size:
                await self.release(environment, keys=-keys, size=-size)
            return
        await self._add(environment, keys, size)
        try:
            yield
        except BaseException:
            await self.release(environment, keys=keys, size=size)
            raise

    async def release(self, environment: str, *, keys: int, size: int) -> None:
        self._refusals.pop(environment, None)
        async with self._database.transaction() as tx:
            await state_store.subtract(tx, environment, keys, size)

    async def _add(self, environment: str, keys: int, size: int) -> None:
        async with self._database.transaction() as tx:
            if await state_store.add_within(tx, environment, keys, size, most_keys=MOST_KEYS):
                return
        until, reason = self._refusals.get(environment, (0.0, ""))
        if time.monotonic() < until:
            raise StateQuotaExceeded(reason)
        if not (reason := await self._add_with_new_piece(environment, keys, size)):
            return
        if await self._count_again(environment):
            reason = await self._add_with_new_piece(environment, keys, size)
        if reason:
            if len(self._refusals) >= _MOST_REFUSALS:
                self._refusals.clear()
            self._refusals[environment] = time.monotonic() + REFUSED_SECONDS, reason
            raise StateQuotaExceeded(reason)

    async def _add_with_new_piece(self, environment: str, keys: int, size: int) -> str:
        """Return which limit was reached; empty if none was."""
        async with self._database.transaction() as tx:
            owner = await state_store.find_owner(tx, environment)
            if owner is None:
                return "The site does not exist any more."
            await plans.lock(tx, owner)
            used = await state_store.find_usage(tx, environment)
            if used.keys + keys > MOST_KEYS or used.size + size > MAX_BYTES:
                return f"The functions of a site keep at most {MOST_KEYS} keys and {_megabytes(MAX_BYTES)}."
            limit = await plans.get_function_state_limit(tx, owner)
            pool = await plans.get_pool(tx, owner)
            left = limit - await state_store.reduce_grants(
                tx, pool.teams, pool.accounts, besides=environment, piece=PIECE_BYTES
            )
            if used.size + size > left:
                return (
                    f"The functions of all sites of the owner keep at most {_megabytes(limit)} in this plan."
                    " Those of deleted sites count as long as the sites can be recovered."
                )
            granted = min(max(_round_up(used.size + size), used.granted), left)
            await state_store.add_with_grant(tx, environment, keys, size, granted=granted)
            return ""

    async def _count_again(self, environment: str) -> bool:
        """Whether it was counted: not more often than needed. What is added meanwhile is added to the result,
        whether the count has seen it or not."""
        async with self._database.transaction() as tx:
            if not await state_store.claim_count(tx, environment, before=tx.now - COUNTED_EVERY):
                return False
        async with self._counts:
            await asyncio.sleep(SETTLING_SECONDS)
            stream = state_stream(environment)
            keys = size = 0
            for subject in await self._stream.list_subjects(stream, f"{state_subjects(environment)}.>"):
                entry = await self._stream.get(stream, subject)
                if entry.data:
                    key = bytes.fromhex(subject.rpartition(".")[2])
                    keys, size = keys + 1, size + measure(key, entry.data)
        async with self._database.transaction() as tx:
            await state_store.set_usage(tx, environment, keys, size)
        return True


def _round_up(size: int) -> int:
    return -(-size // PIECE_BYTES) * PIECE_BYTES


def _megabytes(size: int) -> str:
    return f"{size >> 20} MB"
