"""A job that reaches its time limit ends, undone; a kind that a worker does not know does not disturb it."""

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import pytest
from temporalio.api.enums.v1 import EventType

from stead.control.jobs.rules import JobTimeout
from stead.control.sites.workflows import DEPLOY
from tests.faults.jobs.announcements import Stage, announcing, check_withdrawn, live_trial
from tests.faults.jobs.cases import ANNOUNCING, HELD, Case, cases_of
from tests.faults.jobs.checks import check_failed, check_site, check_succeeded, record_covered
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.limited_worker import LIMIT_VARIABLE
from tests.faults.jobs.node import is_waiting
from tests.faults.jobs.outcomes import observe
from tests.faults.jobs.programs import until
from tests.faults.jobs.sites import deploy, new_site, running_site
from tests.faults.jobs.trials import Trial, Trials, conclude, follow_up, holding, release, run_in_batches
from tests.patience import slowdown

pytestmark = pytest.mark.faults

NEWER = "deployment.deploy/newer"
"""Only `limited_worker` knows this kind."""
STEPS = [case for case in cases_of(DEPLOY) if case.can_be_held]
ON_NODE = list({case.workflow: case for case in reversed(HELD) if case.is_on_node}.values())
"""For each kind of job that has one, its first step on the node."""
ELSEWHERE = list(
    {
        case.workflow: case
        for case in reversed(ANNOUNCING)
        if case.workflow not in {other.workflow for other in ON_NODE}
    }.values()
)
"""For each of the other kinds, its first announcement."""
LIMIT_SECONDS = 10.0
"""Enough for a job of every kind to reach its step, on an idle machine."""
LOOK_SECONDS = 0.5


@asynccontextmanager
async def only_limited_worker(harness: Harness, limit: int = 600) -> AsyncIterator[None]:
    """Replace the workers by one that gives every job this many seconds, and knows one kind more."""
    for worker in harness.workers:
        await worker.stop()
    harness.limited.start(**{LIMIT_VARIABLE: str(limit)})
    try:
        yield
    finally:
        await harness.limited.stop()
        harness.start_workers()


async def _change_kind(harness: Harness, job: str, kind: str) -> None:
    await harness.sql(
        "update jobs set params = params || jsonb_build_object('kind', $2::text) where id = $1", job, kind
    )


@pytest.fixture(scope="module")
def limit() -> int:
    return math.ceil(LIMIT_SECONDS * slowdown())


@pytest.fixture(scope="module")
async def out_of_time(harness: Harness, limit: int) -> Trials:
    """Steps on the node and transactions are held, and the edge is stopped, until the time of all is over."""

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        stages: list[Stage] = []
        async with AsyncExitStack() as ending:

            async def limit_jobs() -> None:
                await ending.enter_async_context(only_limited_worker(harness, limit))

            async def announce() -> None:
                live = [case for case in cases if case.live]
                harness.speak_as("live")
                stages.append(await ending.enter_async_context(announcing(harness, live, limit_jobs)))
                harness.speak_as("test")

            held = [case for case in cases if not case.live]
            async with holding(harness, held, prepared=announce) as trials:
                for trial in (*trials, *stages[0].trials):
                    if trial.blocker is not None or trial.case.live:
                        await _wait_for_limit(harness, trial)
                        await release(harness, trial)
                stages[0].edge.resume()
                await stages[0].conclude()
                await stages[0].visit()
                await conclude(harness, trials)
                for trial in trials:
                    trial.note = is_waiting(trial.pid)
        await follow_up(harness, trials)
        harness.speak_as("live")
        await follow_up(harness, stages[0].trials)
        harness.speak_as("test")
        return [*trials, *stages[0].trials]

    try:
        return await run_in_batches(dict.fromkeys([*STEPS, *ON_NODE, *ELSEWHERE]), run)
    finally:
        harness.speak_as("test")


async def _wait_for_limit(harness: Harness, trial: Trial) -> None:
    """Wait until the workflow of the job has noticed that its time is over. While a transaction is blocked,
    it notices that only every few seconds."""
    handle = (await harness.temporal()).get_workflow_handle(trial.job)

    async def look() -> bool:
        kinds = [event.event_type for event in (await handle.fetch_history()).events]
        if EventType.EVENT_TYPE_TIMER_FIRED not in kinds:
            return False
        since = kinds[kinds.index(EventType.EVENT_TYPE_TIMER_FIRED) :]
        return EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED in since

    await until(look, f"{trial.case} has noticed that its time is over", poll=LOOK_SECONDS)


@pytest.mark.parametrize("case", STEPS, ids=str)
def test_a_job_that_reaches_its_limit_in_a_step_is_undone_and_unlocks_its_site(
    case: Case, out_of_time: Trials, limit: int
) -> None:
    """Except in the last step, if it is a transaction: that transaction also ends the job."""
    trial = out_of_time[case]
    if trial.result.status == "succeeded":
        assert case.step is STEPS[-1].step
        check_succeeded(case, trial.result)
    else:
        message = str(JobTimeout(limit=f"{limit} seconds"))
        check_failed(case, trial.result, JobTimeout.code, message)
        check_site(trial.result, case.scenario.failed, reason=message)
    assert not trial.note, "the process that the node had started is gone"
    assert trial.follow_up_status == "succeeded"
    record_covered("time is up", case)


@pytest.mark.parametrize("case", ON_NODE, ids=lambda case: case.workflow.name)
def test_a_job_of_any_kind_that_reaches_its_limit_on_the_node_is_undone_and_unlocks_its_site(
    case: Case, out_of_time: Trials, limit: int
) -> None:
    trial = out_of_time[case]
    message = str(JobTimeout(limit=f"{limit} seconds"))
    check_failed(case, trial.result, JobTimeout.code, message)
    check_site(trial.result, case.scenario.failed_in(case.step.name), reason=message)
    assert not trial.note, "the process that the node had started is gone"
    assert trial.follow_up_status == "succeeded"
    record_covered("time is up", case)


@pytest.mark.parametrize("case", ELSEWHERE, ids=lambda case: case.workflow.name)
def test_a_job_of_any_other_kind_that_reaches_its_limit_withdraws_its_announcement(
    case: Case, out_of_time: Trials, limit: int
) -> None:
    trial = live_trial(out_of_time, case)
    check_withdrawn(trial, JobTimeout.code, str(JobTimeout(limit=f"{limit} seconds")))
    assert trial.follow_up_status == "succeeded"
    record_covered("time is up", case)


async def test_a_worker_leaves_a_kind_of_job_that_it_does_not_know_to_a_worker_that_does(
    harness: Harness,
) -> None:
    """Two versions work at the same time while an installation is upgraded."""
    await harness.node.set_step_seconds(0)
    site = await new_site(harness)
    queue = await harness.lock_queue()
    job = await deploy(harness, site)
    await _change_kind(harness, job, NEWER)
    await harness.sql("update jobs set dispatched_at = now() - interval '1 minute' where id = $1", job)
    queue.terminate()
    for _ in range(3):
        await running_site(harness)
    async with only_limited_worker(harness):
        await harness.ended(job)
    check_succeeded(STEPS[-1], await observe(harness, job))
