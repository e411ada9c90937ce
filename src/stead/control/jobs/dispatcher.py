"""Takes jobs up as soon as they may run, passes cancellations on, and ends what was lost."""

import asyncio
import time
from typing import Any

import structlog

from stead.control.engines.postgres import UNREACHABLE, Database
from stead.control.engines.postgres_notifications import Notices
from stead.control.engines.temporal import Orchestrator, Unreachable
from stead.control.jobs import queue
from stead.control.jobs.definition import Workflow, WorkflowCatalog
from stead.control.jobs.kinds import JobRow
from stead.control.jobs.workflow import Plan, PlannedStep

log = structlog.get_logger()

SWEEP_SECONDS = 1.0
RECONCILE_SECONDS = 15.0
AT_ONCE = 50


class Dispatcher:
    def __init__(
        self,
        database: Database,
        orchestrator: Orchestrator,
        notices: Notices,
        workflows: WorkflowCatalog,
    ) -> None:
        self._database, self._orchestrator, self._notices = database, orchestrator, notices
        self._workflows = workflows
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
            except Exception as error:  # noqa: BLE001 - without it this worker would never dispatch again
                log.error("dispatch.failed", reason=type(error).__name__)
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
        """A kind that this worker does not know is left to the newer one that queued it."""
        known = [row for row in rows if self._workflows.knows(row)]
        await asyncio.gather(
            *(self._orchestrator.start(plan_of(row, self._workflows.of(row))) for row in known)
        )

    async def _cancel(self) -> None:
        """Sent and noted together: a cancellation that could not be sent is sent by whoever sweeps next."""
        async with self._database.transaction() as tx:
            rows = await queue.to_cancel(tx)
            # Whoever claimed it may not have started it yet, and what is not there cannot be cancelled.
            await self._start(rows)
            for row in rows:
                await self._orchestrator.cancel(row.id)

    async def _reconcile(self) -> None:
        async with self._database.reading() as tx:
            jobs = await queue.under_way(tx)
        for job in jobs:
            if await self._orchestrator.is_open(job):
                continue
            # Read only now: an execution that is closed has ended its job before, unless it was lost.
            async with self._database.reading() as tx:
                row = await queue.get(tx, job)
            if row is not None and row.status in ("queued", "running") and self._workflows.knows(row):
                log.error("job.lost", job_id=job)
                await self._orchestrator.start(plan_of(row, self._workflows.of(row), lost=True))


def plan_of(row: JobRow, workflow: Workflow[Any], *, lost: bool = False) -> Plan:
    planned = [
        PlannedStep(step.name, waits=not step.is_transaction, has_undo=step.has_undo)
        for step in workflow.steps.values()
    ]
    return Plan(row.id, workflow.kind.limit.total_seconds(), planned, lost)
