"""A job that reaches its time limit ends, undone; a kind that a worker does not know does not disturb it."""

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from stead.control.jobs.rules import JobTimeout
from stead.control.sites.workflows import DEPLOY
from tests.faults.jobs.cases import Case, cases_of
from tests.faults.jobs.checks import check_failed, check_site, check_succeeded, record_covered
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.limited_worker import LIMIT_VARIABLE
from tests.faults.jobs.node import is_waiting
from tests.faults.jobs.outcomes import observe
from tests.faults.jobs.programs import until
from tests.faults.jobs.sites import deploy, new_site, running_site
from tests.faults.jobs.trials import Trial, Trials, conclude, follow_up, holding, queue_locked, release
from tests.patience import slowdown

pytestmark = pytest.mark.faults

LIMITED, NEWER = "deployment.deploy/limited", "deployment.deploy/newer"
"""Only `limited_worker` knows these kinds."""
STEPS = [case for case in cases_of(DEPLOY) if case.can_be_held]
LIMIT_SECONDS = 5.0
"""Enough for a job to reach its last step, on an idle machine."""
LATER_SECONDS = 13
"""While a transaction is blocked, the workflow notices its timer only every few seconds."""


@asynccontextmanager
async def only_newer_worker(harness: Harness, limit: int = 5) -> AsyncIterator[None]:
    """Replace the workers by one that knows more kinds of job."""
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
    async def set_limit(trial: Trial) -> None:
        await _change_kind(harness, trial.job, LIMITED)

    async with only_newer_worker(harness, limit), holding(harness, STEPS, before=set_limit) as trials:
        for trial in trials:
            if trial.blocker is not None:
                await until(_is_over, "its time is over", harness, trial, limit)
                await release(harness, trial)
        await harness.ended(*(trial.job for trial in trials))
        for trial in trials:
            trial.note = is_waiting(trial.pid)
        await conclude(harness, trials)
    await follow_up(harness, trials)
    return Trials(trials)


async def _is_over(harness: Harness, trial: Trial, limit: int) -> bool:
    sql = "select now() - dispatched_at > make_interval(secs => $2) from jobs where id = $1"
    ((over,),) = await harness.sql(sql, trial.job, float(limit + LATER_SECONDS))
    return bool(over)


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


async def test_a_worker_leaves_a_kind_of_job_that_it_does_not_know_to_a_worker_that_does(
    harness: Harness,
) -> None:
    """Two versions work at the same time while an installation is upgraded."""
    await harness.node.set_step_seconds(0)
    site = await new_site(harness)
    queue = await queue_locked(harness)
    job = await deploy(harness, site)
    await _change_kind(harness, job, NEWER)
    await harness.sql("update jobs set dispatched_at = now() - interval '1 minute' where id = $1", job)
    queue.terminate()
    for _ in range(3):
        await running_site(harness)
    async with only_newer_worker(harness):
        await harness.ended(job)
    check_succeeded(STEPS[-1], await observe(harness, job))
