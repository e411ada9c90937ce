"""Temporal loses the workflow of a job: the job fails, and its site is as after any other failure."""

import asyncio
from collections.abc import Sequence

import pytest

from stead.control.jobs.rules import JobLost
from tests.faults.jobs.cases import HELD, Case
from tests.faults.jobs.checks import check_failed, check_site, record_covered
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import is_waiting
from tests.faults.jobs.outcomes import observe
from tests.faults.jobs.programs import until
from tests.faults.jobs.trials import Trial, Trials, conclude, follow_up, holding, release, run_in_batches

pytestmark = pytest.mark.faults

MESSAGE = str(JobLost())


@pytest.fixture(scope="module")
async def lost(harness: Harness) -> Trials:
    """A held transaction is released only after its job has ended, so that it comes too late."""
    temporal = await harness.temporal()

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        async with holding(harness, cases) as trials:
            await asyncio.gather(
                *(temporal.get_workflow_handle(trial.job).terminate("lost") for trial in trials)
            )
            await conclude(harness, trials)
            for trial in trials:
                trial.note = is_waiting(trial.pid)
            await release(harness, *trials)
            await until(_no_connection_is_blocked, "no connection waits for a lock", harness)
            for trial in trials:
                if trial.error is None:
                    trial.outcome = await observe(harness, trial.job)
            await follow_up(harness, trials)
        return trials

    return await run_in_batches(HELD, run)


async def _no_connection_is_blocked(harness: Harness) -> bool:
    return not await harness.sql("select from pg_stat_activity where wait_event_type = 'Lock'")


@pytest.mark.parametrize("case", HELD, ids=str)
def test_a_job_whose_workflow_is_lost_in_a_step_is_undone_and_unlocks_its_site(
    case: Case, lost: Trials
) -> None:
    trial = lost[case]
    check_failed(case, trial.result, JobLost.code, MESSAGE, lost=True)
    check_site(trial.result, case.scenario.failed_in(case.step.name), reason=MESSAGE)
    assert not trial.note, "the process that the node had started is gone"
    assert trial.follow_up_status == "succeeded"
    record_covered("execution lost", case)
