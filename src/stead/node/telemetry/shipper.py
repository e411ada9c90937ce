"""Delivers chunks: asks the control plane where to put each, puts it there, and forgets it when the control
plane has recorded that."""

import asyncio
import secrets
import time

import msgspec
import nats.errors
import structlog

from stead.node import metrics, transfer
from stead.node.nats_connection import NatsConnection
from stead.node.telemetry.ledger_source import LedgerSource
from stead.node.telemetry.resource_samples import ResourceSource
from stead.node.telemetry.site_logs import LogSource
from stead.node.telemetry.spans import SpanSource
from stead.node.telemetry.spool import PendingChunk, Spool
from stead.node.uninterrupted import run_in_thread
from stead.protocol import subjects
from stead.protocol.telemetry import MAX_GAPS, Chunk, ChunkAnswer, ChunkReport, encode, read_answer

ANSWER_SECONDS = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 30.0

log = structlog.get_logger()


class NotDelivered(Exception):
    """The control plane or the object store does not respond. It is tried again."""


class Shipper:
    """`every` is the time between two looks at the files, in seconds."""

    def __init__(
        self,
        node: str,
        connection: NatsConnection,
        spool: Spool,
        ledger: LedgerSource,
        logs: LogSource,
        resources: ResourceSource,
        spans: SpanSource,
        *,
        every: float,
    ) -> None:
        self._node, self._connection, self._spool = node, connection, spool
        self._ledger, self._logs, self._resources, self._spans = ledger, logs, resources, spans
        self._every = every

    async def run(self) -> None:
        """Runs until it is cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._read_files())
            group.create_task(self._deliver_all())

    async def _read_files(self) -> None:
        while True:
            await run_in_thread(self._ledger.read_new)
            await run_in_thread(self._logs.read_new)
            await run_in_thread(self._resources.sample_if_due)
            await run_in_thread(self._spans.read_new)
            metrics.telemetry_waiting.set(self._spool.waiting_bytes)
            metrics.telemetry_lost.set(self._ledger.lost)
            await asyncio.sleep(self._every)

    async def _deliver_all(self) -> None:
        pause = FIRST_PAUSE
        while True:
            try:
                while await self.deliver_next():
                    pause = FIRST_PAUSE
            except NotDelivered as error:
                log.info("telemetry.delayed", reason=str(error), seconds=pause)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                await asyncio.sleep(self._every)

    async def deliver_next(self) -> bool:
        """Return whether there was a chunk. Raises NotDelivered."""
        until = min(self._ledger.until, self._logs.until)
        pending = await run_in_thread(self._spool.next_chunk)
        if pending is None:
            await self._report(None, until=until)
            return False
        if not await run_in_thread(lambda: pending.is_deliverable):
            await self._give_up(pending)
            return True
        answer = await self._report(pending.chunk, until=pending.chunk.until)
        if not answer.recorded:
            answer = await self._put(pending, answer)
        if answer.malformed:
            await self._give_up(pending)
            return True
        if answer.refused:
            log.warning("telemetry.refused", chunk=pending.chunk.id, rows=pending.chunk.rows)
        await run_in_thread(self._spool.remove, pending)
        return True

    async def _give_up(self, pending: PendingChunk) -> None:
        """Otherwise it would be tried for ever, and all others would wait."""
        log.error("telemetry.given_up", chunk=pending.chunk.id, rows=pending.chunk.rows)
        await run_in_thread(self._spool.give_up, pending)

    async def _put(self, pending: PendingChunk, answer: ChunkAnswer) -> ChunkAnswer:
        if not answer.url:
            raise NotDelivered("the control plane has no room")
        try:
            await transfer.put(pending.path, answer.url)
        except transfer.TransferFailed as error:
            raise NotDelivered(str(error)) from None
        answer = await self._report(pending.chunk, until=pending.chunk.until, stored=True)
        if not answer.recorded:
            raise NotDelivered("the control plane has not recorded it")
        return answer

    async def _report(self, chunk: Chunk | None, *, until: float, stored: bool = False) -> ChunkAnswer:
        gaps = await run_in_thread(self._spool.list_gaps, MAX_GAPS)
        report = ChunkReport(
            node=self._node,
            id=secrets.token_hex(16),
            until=min(until, time.time()),
            chunk=chunk,
            stored=stored,
            gaps=tuple(gap for _, gap in gaps),
        )
        if not self._connection.connected:
            raise NotDelivered("NATS is not connected")
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._ask(report)
        except (nats.errors.Error, OSError, TimeoutError, msgspec.MsgspecError) as error:
            raise NotDelivered(type(error).__name__) from None
        if gaps:
            await run_in_thread(self._spool.remove_gaps, [id_ for id_, _ in gaps])
        return answer

    async def _ask(self, report: ChunkReport) -> ChunkAnswer:
        client = await self._connection.client()
        answers = await client.subscribe(subjects.answer(self._node, report.id))
        try:
            await client.publish(subjects.telemetry(self._node), encode(report))
            return read_answer((await answers.next_msg(timeout=ANSWER_SECONDS)).data)
        finally:
            await answers.unsubscribe()
