"""An execution that Temporal does not have any more: its job is ended, its site is as if it had failed."""

import asyncio

import pytest

from stead.control.jobs.rules import JobLost
from tests.faults.jobs import checks
from tests.faults.jobs.cases import CASES, Case, Trials, caught, go_on, observe, watched
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import is_sleep
from tests.faults.jobs.programs import until

pytestmark = pytest.mark.faults

LOST = str(JobLost())


@pytest.fixture(scope="module")
async def lost(harness: Harness) -> Trials:
    """What was under way in a transaction may go on only when the job has ended, and comes too late."""
    trials = await caught(harness, CASES)
    temporal = await harness.temporal()
    await asyncio.gather(*(temporal.get_workflow_handle(trial.job).terminate("lost") for trial in trials))
    found = await watched(harness, trials)
    await until(lambda: _nobody_waits(harness), "nobody waits for a lock")
    whole = [trial for trial in trials if trial.error is None]
    for trial in whole:
        trial.outcome, trial.note = await observe(harness, trial.job), is_sleep(trial.pid)
    await harness.node.work_at(0)
    await asyncio.gather(*(go_on(harness, trial) for trial in whole))
    return found


async def _nobody_waits(harness: Harness) -> bool:
    return not await harness.sql("select from pg_stat_activity where wait_event_type = 'Lock'")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_job_whose_execution_is_lost_in_a_step_is_undone_and_makes_way(case: Case, lost: Trials) -> None:
    trial = lost[case]
    seen = trial.seen
    checks.failed(case, seen, JobLost.code, LOST, lost=True)
    checks.left(seen, case.scenario.failed_in(case.step.name), reason=LOST)
    assert not trial.note, "what the node had started is gone"
    assert trial.following == "succeeded"
    checks.tried("execution lost", case)
