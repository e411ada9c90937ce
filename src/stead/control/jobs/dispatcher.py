"""Takes jobs up as soon as they may run, passes cancellations on, and ends what was lost."""

import asyncio
import time

import structlog

from stead.control.jobs import queue, steps
from stead.control.platform.answers import error_body
from stead.control.platform.database import UNREACHABLE, Database
from stead.control.platform.job_workflow import Plan, PlannedStep
from stead.control.platform.jobs import JobLost, JobRow
from stead.control.platform.notices import Notices
from stead.control.platform.temporal import Orchestrator, Unreachable

log = structlog.get_logger()

SWEEP_SECONDS = 1.0
RECONCILE_SECONDS = 15.0
AT_ONCE = 50


class Dispatcher:
    def __init__(
        self, database: Database, orchestrator: Orchestrator, notices: Notices, docs_url: str
    ) -> None:
        self._database, self._orchestrator, self._notices = database, orchestrator, notices
        self._docs_url = docs_url
        self._reconciled = time.monotonic()

    async def run(self) -> None:
        """Woken by every notice, and every second without one."""
        while True:
            self._notices.any.clear()
            try:
                while await self._round():
                    pass
            except (*UNREACHABLE, Unreachable) as error:
                log.warning("dispatch.postponed", reason=type(error).__name__)
                await asyncio.sleep(SWEEP_SECONDS)
            try:
                async with asyncio.timeout(SWEEP_SECONDS):
                    await self._notices.any.wait()
            except TimeoutError:
                continue

    async def _round(self) -> int:
        async with self._database.transaction() as tx:
            claimed = await queue.claim(tx, AT_ONCE)
        await self._start(claimed)
        async with self._database.reading() as tx:
            forgotten = await queue.not_yet_started(tx)
        await self._start(forgotten)
        await self._cancel()
        if time.monotonic() - self._reconciled > RECONCILE_SECONDS:
            self._reconciled = time.monotonic()
            await self._reconcile()
        return len(claimed)

    async def _start(self, rows: list[JobRow]) -> None:
        await asyncio.gather(*(self._orchestrator.start(plan_of(row)) for row in rows))

    async def _cancel(self) -> None:
        """Sent and noted together: a cancellation that could not be sent is sent by whoever sweeps next."""
        async with self._database.transaction() as tx:
            for job in await queue.to_cancel(tx):
                await self._orchestrator.cancel(job)

    async def _reconcile(self) -> None:
        async with self._database.reading() as tx:
            jobs = await queue.under_way(tx)
        for job in jobs:
            if await self._orchestrator.is_open(job):
                continue
            async with self._database.transaction() as tx:
                if await steps.fail_lost(tx, job, error_body(JobLost(), self._docs_url)):
                    log.error("job.lost", job_id=job)


def plan_of(row: JobRow) -> Plan:
    kind = row.kind
    planned = [
        PlannedStep(step.name, on_node=step.ask is not None, has_undo=step.has_undo)
        for step in kind.steps.values()
    ]
    return Plan(row.id, kind.limit.total_seconds(), planned)
