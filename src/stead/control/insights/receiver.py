"""Answers nodes that have recorded something: where to put it, and that it was recorded."""

import asyncio
from collections import Counter
from functools import partial

import msgspec
import structlog

from stead.control.engines.nats import NATS_UNREACHABLE, Message, Nats
from stead.control.engines.object_store import ObjectStore, ObjectStoreUnavailable
from stead.control.engines.postgres import DATABASE_FAILED, Database, Tx
from stead.control.insights import chunk_store as store
from stead.control.insights.rules import URL_SECONDS, object_name
from stead.protocol.subjects import answer
from stead.protocol.telemetry import (
    COLUMNS,
    Chunk,
    ChunkAnswer,
    ChunkReport,
    encode,
    read_report,
    read_sender,
)
from stead.shared.clock import from_unix
from stead.shared.token_bucket import TokenBuckets

REPORTS_PER_SECOND, BURST = 20.0, 200
"""Of one node. Each is a transaction: a node that floods must not delay others."""
AT_ONCE, AT_ONCE_OF_NODE = 4, 2
"""How many reports are answered at the same time."""
MAX_WAITING = 20_000
"""How many chunks of one node may wait: two days of a busy one. Then the node keeps them itself."""
_SUBJECT, _QUEUE = "node.*.telemetry", "workers"

log = structlog.get_logger()


class ChunkReceiver:
    """Without a configured ClickHouse every chunk is refused, so that nodes keep nothing."""

    def __init__(self, nats_: Nats, database: Database, objects: ObjectStore, *, wanted: bool) -> None:
        self._nats, self._database, self._objects, self._wanted = nats_, database, objects, wanted
        self._allowed = TokenBuckets(REPORTS_PER_SECOND, BURST)
        self._subscribed = False
        self._answering: set[asyncio.Task[None]] = set()
        self._senders: Counter[str] = Counter()
        self._places = asyncio.Semaphore(AT_ONCE)

    async def start(self) -> None:
        """Can be called again if it failed. One of all workers gets each report."""
        if not self._subscribed:
            await self._nats.client.subscribe(_SUBJECT, queue=_QUEUE, cb=self._receive)
            self._subscribed = True

    async def _receive(self, message: Message) -> None:
        """NATS lets each node publish only under its own name. A node without an answer asks again."""
        sender = message.subject.split(".")[1]
        # A node asks one question at a time.
        if self._senders[sender] >= AT_ONCE_OF_NODE or not self._allowed.take(sender):
            return
        self._senders[sender] += 1
        await self._places.acquire()
        task = asyncio.create_task(self._answer(sender, message))
        self._answering.add(task)
        task.add_done_callback(partial(self._finish, sender))

    def _finish(self, sender: str, task: asyncio.Task[None]) -> None:
        self._answering.discard(task)
        self._places.release()
        self._senders -= Counter([sender])

    async def _answer(self, sender: str, message: Message) -> None:
        try:
            report = read_report(message.data)
        except (msgspec.MsgspecError, TypeError):
            log.warning("telemetry.malformed", node=sender)
            await self._refuse_malformed(sender, message.data)
            return
        if report.node != sender:
            return
        try:
            found = await self.respond(report)
            if found is not None:
                await self._nats.client.publish(answer(sender, report.id), encode(found))
        except (*DATABASE_FAILED, *NATS_UNREACHABLE, ObjectStoreUnavailable) as error:
            log.warning("telemetry.not_answered", node=sender, reason=type(error).__name__)

    async def _refuse_malformed(self, sender: str, data: bytes) -> None:
        """The node would send it again for ever, and nothing after it."""
        try:
            named = read_sender(data)
            if named.node == sender:
                refusal = ChunkAnswer(recorded=True, refused=True, malformed=True)
                await self._nats.client.publish(answer(sender, named.id), encode(refusal))
        except (msgspec.MsgspecError, TypeError):
            return
        except NATS_UNREACHABLE as error:
            log.warning("telemetry.not_answered", node=sender, reason=type(error).__name__)

    async def respond(self, report: ChunkReport) -> ChunkAnswer | None:
        if not self._wanted:
            return ChunkAnswer(recorded=True, refused=True)
        async with self._database.transaction() as tx:
            if not await store.is_enrolled(tx, report.node):
                log.warning("telemetry.not_enrolled", node=report.node)
                return None
            found = await _record(tx, report)
        if found is None:
            return ChunkAnswer()
        if found.recorded or found.refused or report.chunk is None:
            return found
        key = object_name(report.node, report.chunk.id)
        url = self._objects.presigned_put_url(key, size=report.chunk.size, seconds=URL_SECONDS)
        return ChunkAnswer(url=url)


async def _record(tx: Tx, report: ChunkReport) -> ChunkAnswer | None:
    """An answer without anything means that the chunk may be put, and none that the node must wait."""
    await store.insert_gaps(tx, report.node, report.gaps)
    chunk = report.chunk
    if chunk is None:
        until = min(from_unix(report.until), tx.now)
        await store.set_progress_if_idle(tx, report.node, list(COLUMNS), until)
        return ChunkAnswer(recorded=True)
    return await _record_chunk(tx, report, chunk)


async def _record_chunk(tx: Tx, report: ChunkReport, chunk: Chunk) -> ChunkAnswer | None:
    known = await store.find(tx, report.node, chunk.id)
    if known is None:
        if await store.count_waiting(tx, report.node) >= MAX_WAITING:
            log.warning("telemetry.too_many", node=report.node)
            return None
        await store.insert(tx, report.node, chunk)
        return ChunkAnswer()
    if known.sha256 != chunk.sha256 or known.size != chunk.size:
        log.error("telemetry.chunk_changed", node=report.node, chunk=chunk.id)
        return ChunkAnswer(recorded=True, refused=True)
    if known.status == "withdrawn":
        return None
    if known.status != "offered":
        return ChunkAnswer(recorded=True, refused=known.status == "refused")
    if report.stored:
        is_stored = await store.set_stored(tx, report.node, chunk.id)
        return ChunkAnswer(recorded=True) if is_stored else None
    await store.offer_again(tx, report.node, chunk.id)
    return ChunkAnswer()
