"""Sends the results of the journal to JetStream, each until the server has acknowledged it."""

import asyncio

import msgspec
import nats.errors
import structlog
from nats.js.api import Header

from stead.node.journal import Journal, PendingReport
from stead.node.nats_connection import NatsConnection
from stead.protocol.commands import Result, encode, result_kind
from stead.protocol.subjects import report

BATCH = 32
ACK_SECONDS = 5.0
MAX_BYTES = 1_000_000
"""NATS accepts 1 MiB, with the headers."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0

log = structlog.get_logger()


class Reporter:
    def __init__(self, journal: Journal, connection: NatsConnection) -> None:
        self._journal, self._connection = journal, connection
        self._pending = asyncio.Event()
        journal.on_report = self._pending.set

    async def run(self) -> None:
        """Runs until it is cancelled, beginning with the results that could not be sent before a restart."""
        pause = FIRST_PAUSE
        while True:
            self._pending.clear()
            reports = self._journal.pending_reports(BATCH)
            if not reports:
                await self._pending.wait()
            elif all(await asyncio.gather(*map(self._send, reports))):
                pause = FIRST_PAUSE
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _send(self, pending: PendingReport) -> bool:
        """Return whether the server has acknowledged it."""
        result = pending.result
        jetstream = await self._connection.jetstream()
        subject = report(result.node, result_kind(result.job, result.step))
        try:
            await jetstream.publish(
                subject, build_message(result), timeout=ACK_SECONDS, headers={Header.MSG_ID: pending.id}
            )
        except (nats.errors.Error, OSError) as error:
            log.warning("report.delayed", job=result.job, step=result.step, error=type(error).__name__)
            return False
        self._journal.remove_report(pending)
        return True


def build_message(result: Result) -> bytes:
    """Without its value if that is too large: a message that no server accepts would be sent for ever, and
    those after it never."""
    data = encode(result)
    if len(data) <= MAX_BYTES:
        return data
    log.error("report.too_large", job=result.job, step=result.step, size=len(data))
    return encode(msgspec.structs.replace(result, value=None))
