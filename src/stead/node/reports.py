"""Results from the journal into JetStream, each until the server has acknowledged it."""

import asyncio

import nats.errors
import structlog
from nats.js.api import Header

from stead.node.journal import Journal, Report
from stead.node.link import Link
from stead.protocol.commands import encode, result_kind
from stead.protocol.subjects import report

AT_ONCE = 32
ACK_BOUND = 5.0
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 5.0

log = structlog.get_logger()


class Reporter:
    def __init__(self, journal: Journal, link: Link) -> None:
        self._journal, self._link = journal, link
        self._something = asyncio.Event()
        journal.reported = self._something.set

    async def run(self) -> None:
        """For ever, beginning with what an earlier life could not send."""
        pause = FIRST_PAUSE
        while True:
            self._something.clear()
            waiting = self._journal.unreported(AT_ONCE)
            if not waiting:
                await self._something.wait()
            elif all(await asyncio.gather(*map(self._sent, waiting))):
                pause = FIRST_PAUSE
            else:
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)

    async def _sent(self, it: Report) -> bool:
        result = it.result
        jetstream = await self._link.jetstream()
        subject = report(result.node, result_kind(result.job, result.step))
        try:
            await jetstream.publish(
                subject, encode(result), timeout=ACK_BOUND, headers={Header.MSG_ID: it.id}
            )
        except (nats.errors.Error, OSError) as error:
            log.warning("report.delayed", job=result.job, step=result.step, error=type(error).__name__)
            return False
        self._journal.sent(it)
        return True
