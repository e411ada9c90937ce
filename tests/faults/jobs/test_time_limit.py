"""A job whose time is up ends, undone; and what a worker does not know does not keep it from its work."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from stead.control.sites.workflows import DEPLOY
from tests.faults.jobs import checks
from tests.faults.jobs.cases import (
    Case,
    Trial,
    Trials,
    cases_of,
    caught,
    go_on,
    let_go,
    observe,
    queue_held,
    watched,
)
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import is_sleep
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import deploy, new_site, running_site

pytestmark = pytest.mark.faults

LIMITED, NEWER = "deployment.deploy/limited", "deployment.deploy/newer"
"""Known only to `limited_worker`. The time of the first is up after five seconds."""
STEPS = [case for case in cases_of(DEPLOY) if case.is_caught_in_simulator]
TOO_LONG = "The job exceeded its time limit of 5 seconds."
PACE = 0.4


@asynccontextmanager
async def only_the_newer(harness: Harness) -> AsyncIterator[None]:
    """All work is done by a worker that knows the kinds."""
    for worker in harness.workers:
        await worker.stop()
    harness.limited.start()
    try:
        yield
    finally:
        await harness.limited.stop()
        for worker in harness.workers:
            worker.start()


async def _become(harness: Harness, job: str, kind: str) -> None:
    """A deployment like any other, until somebody looks of which kind it is."""
    await harness.sql(
        "update jobs set params = params || jsonb_build_object('kind', $2::text) where id = $1", job, kind
    )


@pytest.fixture(scope="module")
async def out_of_time(harness: Harness) -> Trials:
    async def limit(trial: Trial) -> None:
        await _become(harness, trial.job, LIMITED)

    async with only_the_newer(harness):
        trials = await caught(harness, STEPS, pace=PACE, before=limit)
        for trial in trials:
            if trial.hold is not None:
                await until(_too_late, "its time is up", harness, trial)
                await let_go(harness, trial)
        await harness.ended(*(trial.job for trial in trials))
        for trial in trials:
            trial.note = is_sleep(trial.pid)
        found = await watched(harness, trials)
    await harness.node.work_at(0)
    await asyncio.gather(*(go_on(harness, trial) for trial in trials if trial.error is None))
    return found


async def _too_late(harness: Harness, trial: Trial) -> bool:
    """While a transaction hangs, a workflow hears of its timer only every few seconds."""
    asked = "select now() - dispatched_at > interval '18 s' from jobs where id = $1"
    ((late,),) = await harness.sql(asked, trial.job)
    return bool(late)


@pytest.mark.parametrize("case", STEPS, ids=str)
def test_a_job_whose_time_is_up_in_a_step_is_undone_and_makes_way(case: Case, out_of_time: Trials) -> None:
    """Unless the step is the last and a transaction: that one ends the job with it."""
    trial = out_of_time[case]
    seen = trial.seen
    if seen.status == "succeeded":
        assert case.step is STEPS[-1].step
        checks.succeeded(case, seen)
    else:
        checks.failed(case, seen, "job.timeout", TOO_LONG)
        checks.left(seen, case.scenario.failed, reason=TOO_LONG)
    assert not trial.note, "what the node had started is gone"
    assert trial.following == "succeeded"
    checks.tried("time is up", case)


async def test_a_worker_leaves_a_job_it_does_not_know_to_one_that_does(harness: Harness) -> None:
    """Two versions work side by side while an installation is brought to a new one."""
    await harness.node.work_at(0)
    site = await new_site(harness)
    queue = await queue_held(harness)
    job = await deploy(harness, site)
    await _become(harness, job, NEWER)
    await harness.sql("update jobs set dispatched_at = now() - interval '1 minute' where id = $1", job)
    queue.terminate()
    for _ in range(3):
        await running_site(harness)
    async with only_the_newer(harness):
        await harness.ended(job)
    checks.succeeded(STEPS[-1], await observe(harness, job))
