"""Starts the workflows of jobs that may run, passes cancellations on, and ends jobs whose workflow is lost.

Each of these has a loop of its own, so that none waits for another. No request to Temporal is made while a
transaction is open.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

import structlog

from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database, Tx
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.engines.temporal import Orchestrator, TemporalUnreachable
from stead.control.engines.temporal_workflow import Plan, PlannedStep
from stead.control.jobs import queue
from stead.control.jobs.definition import Workflow, WorkflowCatalog
from stead.control.jobs.kinds import JobRow

log = structlog.get_logger()
T = TypeVar("T")

SWEEP_SECONDS = 1.0
RESTART_SECONDS = 5.0
RECONCILE_SECONDS = 15.0
CLAIM_AT_ONCE = 50
REQUESTS_AT_ONCE = 16
"""How many requests to Temporal each loop has open at the same time."""
CONNECTIONS = 4
"""How many database connections a dispatcher needs. They should not be shared with the steps of jobs: a step
may wait for a lock while it keeps a connection."""


class Dispatcher:
    def __init__(
        self,
        database: Database,
        orchestrator: Orchestrator,
        listener: PostgresListener,
        workflows: WorkflowCatalog,
    ) -> None:
        self._database, self._orchestrator, self._listener = database, orchestrator, listener
        self._workflows = workflows
        self._cancelling: set[str] = set()
        self._cancel_slots = asyncio.Semaphore(REQUESTS_AT_ONCE)

    async def run(self) -> None:
        """Claim and cancel on every notice about a job, and every second without one."""
        claim, cancel, never = asyncio.Event(), asyncio.Event(), asyncio.Event()
        async with asyncio.TaskGroup() as sending, asyncio.TaskGroup() as loops:
            loops.create_task(self._forward_notices(claim, cancel))
            loops.create_task(_repeat(self._claim_and_start, SWEEP_SECONDS, claim))
            loops.create_task(_repeat(lambda: self._send_cancellations(sending), SWEEP_SECONDS, cancel))
            loops.create_task(_repeat(self._start_again, RESTART_SECONDS, never))
            await asyncio.sleep(RECONCILE_SECONDS)
            await _repeat(self._reconcile, RECONCILE_SECONDS, never)

    async def _forward_notices(self, *wakes: asyncio.Event) -> None:
        while True:
            await self._listener.job_changed.wait()
            self._listener.job_changed.clear()
            for wake in wakes:
                wake.set()

    async def _claim_and_start(self) -> None:
        claimed = True
        while claimed:
            async with self._database.transaction() as tx:
                rows = await queue.claim(tx, CLAIM_AT_ONCE)
            await self._start(rows)
            claimed = bool(rows)

    async def _start_again(self) -> None:
        """Start claimed jobs whose worker may have died before it started them."""
        after = ""
        while rows := await self._read(partial(queue.list_unstarted, after=after)):
            await self._start(rows)
            after = rows[-1].id

    async def _start(self, rows: list[JobRow]) -> None:
        """Leave a kind that this worker does not know to the newer worker that does."""
        known = [row for row in rows if self._workflows.knows(row)]
        await _for_each(known, lambda row: self._orchestrator.start(self._plan(row)))

    async def _send_cancellations(self, sending: asyncio.TaskGroup) -> None:
        """Send what is not being sent yet. Waits for no answer: a slow one must not delay the next sweep."""
        async with self._database.reading() as tx:
            rows = await queue.to_cancel(tx)
        for row in rows:
            if row.id not in self._cancelling:
                self._cancelling.add(row.id)
                sending.create_task(self._send_cancellation(row))

    async def _send_cancellation(self, row: JobRow) -> None:
        """Send, then record it. When a worker dies in between it is sent again, which is harmless."""
        try:
            async with self._cancel_slots:
                sent = await self._cancel(row)
            if sent:
                async with self._database.transaction() as tx:
                    await queue.record_cancel_sent(tx, row.id)
        except Exception as error:  # noqa: BLE001 - the next sweep tries again; the other cancellations go on
            log.warning("cancel.postponed", job_id=row.id, reason=type(error).__name__)
        finally:
            self._cancelling.discard(row.id)

    async def _cancel(self, row: JobRow) -> bool:
        if await self._orchestrator.cancel(row.id):
            return True
        if not self._workflows.knows(row):
            return False
        # The worker that claimed it has not started it yet: only a workflow that exists can be cancelled.
        await self._orchestrator.start(self._plan(row))
        return await self._orchestrator.cancel(row.id)

    async def _reconcile(self) -> None:
        after = ""
        while jobs := await self._read(partial(queue.list_dispatched, after=after)):
            await _for_each(jobs, self._end_if_lost)
            after = jobs[-1]

    async def _read(self, page: Callable[[Tx], Awaitable[list[T]]]) -> list[T]:
        async with self._database.reading() as tx:
            return await page(tx)

    async def _end_if_lost(self, job: str) -> None:
        state = await self._orchestrator.find_state(job)
        if state == "open":
            return
        # Read only now: a workflow that is closed has ended its job before, unless it was lost.
        async with self._database.reading() as tx:
            row = await queue.get(tx, job)
        if row is None or row.status not in ("queued", "running") or not self._workflows.knows(row):
            return
        if state == "missing" and row.status == "queued":
            # No step has begun: the worker that claimed the job died before it started the workflow.
            await self._orchestrator.start(self._plan(row))
            return
        log.error("job.lost", job_id=job)
        await self._orchestrator.start(self._plan(row, lost=True))

    def _plan(self, row: JobRow, *, lost: bool = False) -> Plan:
        return plan_of(row, self._workflows.of(row), lost=lost)


def plan_of(row: JobRow, workflow: Workflow[Any], *, lost: bool = False) -> Plan:
    planned = [
        PlannedStep(step.name, waits=not step.is_transaction, has_undo=step.has_undo)
        for step in workflow.steps.values()
    ]
    return Plan(row.id, workflow.kind.limit.total_seconds(), planned, lost)


async def _repeat(work: Callable[[], Awaitable[None]], seconds: float, wake: asyncio.Event) -> None:
    """Do the work whenever `wake` is set, and after so many seconds without that."""
    while True:
        wake.clear()
        try:
            await work()
        except (*DATABASE_UNREACHABLE, TemporalUnreachable) as error:
            log.warning("dispatch.postponed", reason=type(error).__name__)
            await asyncio.sleep(SWEEP_SECONDS)
        except Exception as error:  # noqa: BLE001 - otherwise this worker would never dispatch again
            log.error("dispatch.failed", reason=type(error).__name__)
            await asyncio.sleep(SWEEP_SECONDS)
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await wake.wait()


async def _for_each(items: Iterable[T], work: Callable[[T], Awaitable[None]]) -> None:
    """Do the work for every item, a few at a time. The first error is raised once all are done."""
    slots = asyncio.Semaphore(REQUESTS_AT_ONCE)

    async def do(item: T) -> None:
        async with slots:
            await work(item)

    outcomes = await asyncio.gather(*map(do, items), return_exceptions=True)
    for outcome in outcomes:
        if isinstance(outcome, BaseException):
            raise outcome
