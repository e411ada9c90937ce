"""Inserts the chunks of nodes into ClickHouse, each exactly once.

A chunk is claimed in PostgreSQL, read from the object store, checked, and inserted under its own name. If the
worker dies in between, or the answer is lost, another attempt inserts the same rows under the same name,
which ClickHouse recognizes.
"""

import asyncio
import hashlib
from datetime import timedelta

import structlog

from stead.control import metrics
from stead.control.engines.clickhouse import (
    ClickHouse,
    ClickHouseUnavailable,
    QueryTooExpensive,
    RowsUnreadable,
    StatementFailed,
)
from stead.control.engines.object_store import (
    ObjectMissing,
    ObjectStore,
    ObjectStoreUnavailable,
    ObjectTooLarge,
)
from stead.control.engines.postgres import Database
from stead.control.insights import chunk_store as store
from stead.control.insights.chunk_store import ClaimedChunk
from stead.control.insights.chunks import ChunkInvalid, Decisions, OpenChunk
from stead.control.insights.insert_store import count_columns, insert_statement
from stead.control.insights.rules import URL_SECONDS, object_name
from stead.control.insights.table_store import erase_sites
from stead.control.insights.tables import MAX_DAYS

LOOK_SECONDS = 1.0
"""How long a worker waits when there is no chunk."""
SLACK = timedelta(minutes=5)
"""Clocks of nodes may differ so much, and a request may end so long after its environment has moved."""
OLDEST = timedelta(days=8)
"""Older rows are dropped: no node has been offline for so long and come back with its data."""
AT_ONCE = 4
"""More than of one node, so that a node with slow chunks delays no other."""
MAX_ATTEMPTS = 12
"""Of a chunk that may itself be the reason why they fail: half an hour. Outages do not count."""
RETRY = timedelta(seconds=5)
OBJECT_KEPT = timedelta(seconds=URL_SECONDS) + SLACK
"""After its address was given to the node. Then nobody can put the object again."""
OFFER_KEPT = timedelta(days=1)
"""A chunk that was offered and not put for this time is forgotten. Its node offers it again if it has it."""
REMEMBERED = OLDEST + timedelta(days=1)
"""Later a node may offer a chunk again, but then its rows are too old."""
GAPS_REMEMBERED = timedelta(days=30)
BATCH = 500
ERASED_AT_ONCE = 100
ERASED_AFTER = timedelta(minutes=10)
"""An insert that was decided before takes less."""

log = structlog.get_logger()


class Ingestion:
    def __init__(self, database: Database, objects: ObjectStore, clickhouse: ClickHouse) -> None:
        self._database, self._objects, self._clickhouse = database, objects, clickhouse

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(self._insert_for_ever())

    async def _insert_for_ever(self) -> None:
        while True:
            if not await self.insert_next():
                await asyncio.sleep(LOOK_SECONDS)

    async def insert_next(self) -> bool:
        """Return whether there was a chunk, inserted or not."""
        async with self._database.transaction() as tx:
            chunk = await store.claim(tx)
        if chunk is None:
            return False
        if chunk.attempts > MAX_ATTEMPTS:
            await self._refuse(chunk, "no attempt has succeeded")
            return True
        try:
            inserted = await self._insert(chunk)
        except (QueryTooExpensive, StatementFailed) as error:
            # It may be the chunk, so it stays claimed: each attempt makes the next pause longer.
            log.warning("telemetry.failed", chunk=chunk.token, reason=str(error), attempts=chunk.attempts)
            async with self._database.transaction() as tx:
                await store.keep_claimed(tx, chunk)
        except (ClickHouseUnavailable, ObjectStoreUnavailable) as error:
            log.warning("telemetry.delayed", chunk=chunk.token, reason=str(error))
            async with self._database.transaction() as tx:
                await store.release(tx, chunk, RETRY)
            # Other chunks would meet the same error.
            await asyncio.sleep(LOOK_SECONDS)
        except (ChunkInvalid, RowsUnreadable, ObjectMissing, ObjectTooLarge) as error:
            await self._refuse(chunk, str(error) or type(error).__name__)
        else:
            metrics.telemetry_rows.inc(inserted)
            metrics.telemetry_rows_dropped.labels("not_hosted").inc(max(chunk.rows - inserted, 0))
            await self._end(chunk, refused=False, inserted=inserted)
        return True

    async def _insert(self, chunk: ClaimedChunk) -> int:
        """Return how many rows are of environments that the node hosts."""
        content = await self._objects.get(object_name(chunk.node_id, chunk.id), max_bytes=chunk.size)
        if len(content) != chunk.size or hashlib.sha256(content).digest() != chunk.sha256:
            raise ChunkInvalid("it is not what the node has announced")
        opened = await asyncio.to_thread(OpenChunk, content)
        if opened.head.stream != chunk.stream:
            raise ChunkInvalid("it is of another stream")
        decisions = await self._decide(chunk, opened)
        count = opened.count_rows(decisions)
        if count:
            statement = insert_statement(opened.head.stream, decisions, count_columns(opened.head))
            await self._clickhouse.insert(statement, opened.rows, token=chunk.token)
        # A node may lie about it, but not beyond what it has announced.
        return min(count, chunk.rows)

    async def _decide(self, chunk: ClaimedChunk, opened: OpenChunk) -> Decisions:
        async with self._database.transaction() as tx:
            if chunk.decisions is not None:
                return await store.leave_out_erased(tx, chunk.decisions)
            first = max(chunk.first_at, tx.now - OLDEST)
            last = min(chunk.last_at, tx.now + SLACK)
            if first > last:
                raise ChunkInvalid("all its rows are too old, or of the future")
            return await store.decide(
                *(tx, chunk, opened.environments, first, last),
                slack=SLACK,
                max_days=MAX_DAYS[opened.head.stream],
            )

    async def _refuse(self, chunk: ClaimedChunk, reason: str) -> None:
        log.error("telemetry.refused", chunk=chunk.token, reason=reason)
        metrics.telemetry_rows_dropped.labels("unreadable").inc(chunk.rows)
        await self._end(chunk, refused=True, inserted=0)

    async def _end(self, chunk: ClaimedChunk, *, refused: bool, inserted: int) -> None:
        async with self._database.transaction() as tx:
            await store.end(tx, chunk, refused=refused, inserted=inserted)


async def erase_deleted(database: Database, clickhouse: ClickHouse) -> None:
    """Delete what was recorded about sites that were deleted and cannot be recovered any more. What still
    arrives about them is dropped."""
    while True:
        async with database.reading() as tx:
            sites = await store.list_to_erase(tx, tx.now - ERASED_AFTER, ERASED_AT_ONCE)
        if not sites:
            return
        await erase_sites(clickhouse, sites)
        async with database.transaction() as tx:
            await store.set_erased(tx, sites)
        log.info("telemetry.erased", sites=len(sites))


async def remove_old(database: Database, objects: ObjectStore) -> None:
    """Remove the objects of chunks that have ended, and later what is remembered about them. Chunks that were
    offered and never put are withdrawn first: no node can put an object while it is removed."""
    while True:
        async with database.transaction() as tx:
            await store.withdraw_offers(tx, tx.now - OFFER_KEPT, BATCH)
            useless = await store.list_with_useless_objects(tx, tx.now - OBJECT_KEPT, BATCH)
        if not useless:
            break
        await objects.delete([object_name(node, chunk) for node, chunk in useless])
        async with database.transaction() as tx:
            await store.set_without_object(tx, useless)
    removed = BATCH
    while removed:
        async with database.transaction() as tx:
            removed = await store.delete_old(tx, tx.now - REMEMBERED, tx.now - GAPS_REMEMBERED, BATCH)
