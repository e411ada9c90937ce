"""Cancellations are sent within two seconds, however slow Temporal is and whatever else is dispatched."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest

from stead.control.engines.postgres import Database
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.engines.temporal import Orchestrator, WorkflowState
from stead.control.engines.temporal_workflow import Plan
from stead.control.features import workflows
from stead.control.jobs import dispatcher
from stead.control.jobs.dispatcher import Dispatcher
from stead.shared.clock import wall_clock
from tests.control.jobs.queue_harness import QueueHarness
from tests.engines import engine_addresses
from tests.patience import slowdown

CANCEL_SECONDS = 2.0
"""On an idle machine."""
BOUND_SECONDS = 30.0
MANY = 75


class SlowOrchestrator(Orchestrator):
    """Stands for Temporal: it has a workflow for each job that was started, and takes its time to answer."""

    def __init__(self, *, start: float = 0.0, cancel: float = 0.0, describe: float = 0.0) -> None:
        self._start_seconds, self._cancel_seconds, self._describe_seconds = start, cancel, describe
        self.started: list[str] = []
        self.cancelled: dict[str, float] = {}
        self.failing: set[str] = set()
        self.missing: set[str] = set()
        self.plans: list[Plan] = []
        self.most_at_once = 0
        self._open = 0
        self.during: Callable[[], Awaitable[None]] | None = None

    async def start(self, plan: Plan) -> None:
        await asyncio.sleep(self._start_seconds)
        self.started.append(plan.job)
        self.plans.append(plan)

    async def cancel(self, job: str) -> bool:
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        try:
            await asyncio.sleep(self._cancel_seconds)
            if self.during is not None:
                await self.during()
        finally:
            self._open -= 1
        if job in self.failing:
            raise ConnectionError
        if job not in self.started:
            return False
        self.cancelled[job] = time.monotonic()
        return True

    async def find_state(self, job: str) -> WorkflowState:
        await asyncio.sleep(self._describe_seconds)
        return "missing" if job in self.missing else "open"


@pytest.fixture
def url(worker_id: str) -> str:
    return engine_addresses().database(f"stead_queue_{worker_id}")


@asynccontextmanager
async def dispatching(url: str, orchestrator: Orchestrator) -> AsyncIterator[None]:
    database, notices = Database(url, clock=wall_clock, size=dispatcher.CONNECTIONS), PostgresListener(url)
    notices.start()
    running = asyncio.create_task(Dispatcher(database, orchestrator, notices, workflows()).run())
    try:
        yield
        assert not running.done()
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await notices.stop()
        await database.close()


async def start_jobs(job_queue: QueueHarness, orchestrator: SlowOrchestrator, number: int) -> list[str]:
    """Jobs that were claimed and started before."""
    jobs = await job_queue.jobs(await job_queue.owner(number), number)
    assert await job_queue.claim(number) == set(jobs)
    orchestrator.started += jobs
    return jobs


async def request_cancellation(job_queue: QueueHarness, jobs: list[str]) -> None:
    async with job_queue.database.transaction() as tx:
        await tx.run("update jobs set cancel_requested_at = $2 where id = any($1)", jobs, tx.now)


async def unsent(job_queue: QueueHarness, jobs: list[str]) -> int:
    async with job_queue.database.reading() as tx:
        sql = "select count(*) from jobs where id = any($1) and cancel_sent_at is null"
        return int(await tx.value(sql, jobs))


async def seconds_until_sent(job_queue: QueueHarness, jobs: list[str]) -> float:
    began = time.monotonic()
    while time.monotonic() - began < BOUND_SECONDS:
        if await unsent(job_queue, jobs) == 0:
            break
        await asyncio.sleep(0.02)
    return time.monotonic() - began


async def seconds_until_started(orchestrator: SlowOrchestrator, job: str) -> float:
    began = time.monotonic()
    while time.monotonic() - began < BOUND_SECONDS:
        if job in orchestrator.started:
            break
        await asyncio.sleep(0.02)
    return time.monotonic() - began


async def test_many_cancellations_at_once_are_all_sent_in_time(job_queue: QueueHarness, url: str) -> None:
    orchestrator = SlowOrchestrator(cancel=0.1)
    jobs = await start_jobs(job_queue, orchestrator, MANY)
    async with dispatching(url, orchestrator):
        await request_cancellation(job_queue, jobs)
        assert await seconds_until_sent(job_queue, jobs) < CANCEL_SECONDS * slowdown()
    assert set(orchestrator.cancelled) == set(jobs)
    assert 1 < orchestrator.most_at_once <= dispatcher.REQUESTS_AT_ONCE


async def test_a_cancellation_does_not_wait_for_jobs_that_are_being_started(
    job_queue: QueueHarness, url: str
) -> None:
    orchestrator = SlowOrchestrator(start=10.0)
    jobs = await start_jobs(job_queue, orchestrator, 1)
    await job_queue.jobs(await job_queue.owner(MANY), MANY)
    async with dispatching(url, orchestrator):
        await asyncio.sleep(0.3)
        await request_cancellation(job_queue, jobs)
        assert await seconds_until_sent(job_queue, jobs) < CANCEL_SECONDS * slowdown()


async def test_nothing_waits_while_lost_workflows_are_looked_for(
    job_queue: QueueHarness, url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that the search begins during the test.
    monkeypatch.setattr(dispatcher, "RECONCILE_SECONDS", 0.1)
    orchestrator = SlowOrchestrator(describe=10.0)
    jobs = await start_jobs(job_queue, orchestrator, 20)
    async with job_queue.database.transaction() as tx:
        await tx.run(
            "update jobs set dispatched_at = dispatched_at - interval '1 minute', status = 'running'"
        )
    async with dispatching(url, orchestrator):
        await asyncio.sleep(0.3)
        await request_cancellation(job_queue, jobs)
        (other,) = await job_queue.jobs(await job_queue.owner(1), 1)
        assert await seconds_until_sent(job_queue, jobs) < CANCEL_SECONDS * slowdown()
        assert await seconds_until_started(orchestrator, other) < CANCEL_SECONDS * slowdown()


async def test_new_jobs_start_while_cancellations_are_being_sent(job_queue: QueueHarness, url: str) -> None:
    orchestrator = SlowOrchestrator(cancel=10.0)
    cancelled = await start_jobs(job_queue, orchestrator, MANY)
    async with dispatching(url, orchestrator):
        await request_cancellation(job_queue, cancelled)
        await asyncio.sleep(0.3)
        (other,) = await job_queue.jobs(await job_queue.owner(1), 1)
        assert await seconds_until_started(orchestrator, other) < CANCEL_SECONDS * slowdown()


async def test_a_cancellation_that_fails_delays_no_other_and_is_sent_again(
    job_queue: QueueHarness, url: str
) -> None:
    orchestrator = SlowOrchestrator()
    jobs = await start_jobs(job_queue, orchestrator, 20)
    orchestrator.failing.add(jobs[0])
    async with dispatching(url, orchestrator):
        await request_cancellation(job_queue, jobs)
        assert await seconds_until_sent(job_queue, jobs[1:]) < CANCEL_SECONDS * slowdown()
        assert await unsent(job_queue, jobs) == 1
        orchestrator.failing.clear()
        assert await seconds_until_sent(job_queue, jobs) < CANCEL_SECONDS * slowdown()


async def test_a_job_whose_row_is_locked_delays_no_other_cancellation(
    job_queue: QueueHarness, url: str
) -> None:
    orchestrator = SlowOrchestrator()
    jobs = await start_jobs(job_queue, orchestrator, 20)
    async with dispatching(url, orchestrator):
        await request_cancellation(job_queue, jobs)
        async with job_queue.database.transaction() as tx:
            await tx.all(str, "select id from jobs where id = $1 for update", jobs[0])
            assert await seconds_until_sent(job_queue, jobs[1:]) < CANCEL_SECONDS * slowdown()
        assert await seconds_until_sent(job_queue, jobs) < CANCEL_SECONDS * slowdown()


async def test_no_transaction_is_open_while_a_cancellation_is_sent(job_queue: QueueHarness, url: str) -> None:
    orchestrator = SlowOrchestrator(cancel=0.1)
    jobs = await start_jobs(job_queue, orchestrator, 20)
    open_transactions: list[int] = []

    async def look() -> None:
        async with job_queue.database.reading() as tx:
            found = await tx.value(
                "select count(*) from pg_stat_activity"
                " where datname = current_database() and state like 'idle in transaction%'"
            )
            open_transactions.append(found)

    orchestrator.during = look
    async with dispatching(url, orchestrator):
        await request_cancellation(job_queue, jobs)
        await seconds_until_sent(job_queue, jobs)
    assert min(open_transactions) == 0


async def test_a_job_that_was_claimed_and_not_started_is_started_and_then_cancelled(
    job_queue: QueueHarness, url: str
) -> None:
    orchestrator = SlowOrchestrator()
    (job,) = await start_jobs(job_queue, orchestrator, 1)
    orchestrator.started.clear()
    async with dispatching(url, orchestrator):
        await request_cancellation(job_queue, [job])
        assert await seconds_until_sent(job_queue, [job]) < CANCEL_SECONDS * slowdown()
    assert orchestrator.started == [job]
    assert job in orchestrator.cancelled


@pytest.mark.parametrize(("status", "lost"), [("queued", False), ("running", True)])
async def test_a_job_without_a_workflow_is_lost_only_if_a_step_has_begun(
    job_queue: QueueHarness, url: str, status: str, lost: bool
) -> None:
    """A worker that dies between the claim and the start leaves a job that has done nothing yet."""
    orchestrator = SlowOrchestrator()
    (job,) = await start_jobs(job_queue, orchestrator, 1)
    orchestrator.started.clear()
    orchestrator.missing.add(job)
    async with job_queue.database.transaction() as tx:
        await tx.run("update jobs set status = $2 where id = $1", job, status)
    database, notices = Database(url, clock=wall_clock, size=dispatcher.CONNECTIONS), PostgresListener(url)
    try:
        await Dispatcher(database, orchestrator, notices, workflows())._end_if_lost(job)
    finally:
        await database.close()
    assert [plan.lost for plan in orchestrator.plans] == [lost]
