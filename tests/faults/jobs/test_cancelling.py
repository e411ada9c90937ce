"""A cancelled job stops what it runs, undoes what it began, and unlocks its site for the next job."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType

from stead.control.jobs.rules import JobCancelled
from tests.faults.jobs.cases import HELD, LAST_STEPS, Case
from tests.faults.jobs.checks import check_failed, check_site, record_covered
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import is_waiting
from tests.faults.jobs.outcomes import observe
from tests.faults.jobs.programs import until
from tests.faults.jobs.sites import restart, running_site
from tests.faults.jobs.trials import (
    Trial,
    Trials,
    cancel,
    conclude,
    follow_up,
    halves,
    holding,
    prepare,
    release,
    run_in_batches,
    wait_until_cancellation_sent,
)

pytestmark = pytest.mark.faults

MESSAGE = str(JobCancelled())
ON_NODE = [case for case in HELD if case.is_on_node]


@pytest.fixture(scope="module")
async def cancelled(harness: Harness) -> Trials:
    """Half of the control steps go on as soon as the cancellation was sent, half when the workflow knows."""
    temporal = await harness.temporal()

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        async with holding(harness, cases) as trials:
            for trial in trials:
                await cancel(harness, trial.job)
                await cancel(harness, trial.job)
            early, late = halves([trial for trial in trials if trial.blocker is not None])
            await wait_until_cancellation_sent(harness, *early)
            await release(harness, *early)
            for trial in late:
                await until(_is_known_to_workflow, "the workflow knows", temporal, trial)
                await release(harness, trial)
            await _end_and_follow_up(harness, trials)
        return trials

    return await run_in_batches(HELD, run)


@pytest.fixture(scope="module")
async def cancelled_without_worker(harness: Harness) -> Trials:
    """The worker that could stop the step on the node was killed, and no other runs yet."""

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        async with holding(harness, cases) as trials:
            await harness.kill_workers()
            for trial in trials:
                await cancel(harness, trial.job)
            harness.start_workers()
            await _end_and_follow_up(harness, trials)
        return trials

    return await run_in_batches(ON_NODE, run)


async def _end_and_follow_up(harness: Harness, trials: Sequence[Trial]) -> None:
    await asyncio.gather(*(_note_process_at_end(harness, trial) for trial in trials))
    await conclude(harness, trials)
    concluded = [trial for trial in trials if trial.error is None]
    await asyncio.gather(*(_cancel_ended_job(harness, trial) for trial in concluded))
    await follow_up(harness, trials)


async def _note_process_at_end(harness: Harness, trial: Trial) -> None:
    """Note whether the process of the step still exists when the job ends."""
    try:
        await harness.ended(trial.job)
    except AssertionError as error:
        trial.error = error
    trial.note = [is_waiting(trial.pid)]


async def _cancel_ended_job(harness: Harness, trial: Trial) -> None:
    try:
        trial.note.append((await cancel(harness, trial.job, status=409))["error"]["code"])
    except AssertionError as error:
        trial.error = error


async def _is_known_to_workflow(temporal: Any, trial: Trial) -> bool:
    history = await temporal.get_workflow_handle(trial.job).fetch_history()
    types = [event.event_type for event in history.events]
    requested = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED
    started = EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED
    return requested in types and started in types[types.index(requested) :]


def _check_cancelled(case: Case, trial: Trial) -> None:
    check_failed(case, trial.result, JobCancelled.code, MESSAGE)
    check_site(trial.result, case.scenario.failed_in(case.step.name), reason=MESSAGE)
    assert trial.note == [False, "job.already_final"], "its process is gone, and it cannot be cancelled again"
    assert trial.follow_up_status == "succeeded"


@pytest.mark.parametrize("case", HELD, ids=str)
def test_a_job_that_is_cancelled_in_a_step_is_undone_and_unlocks_its_site(
    case: Case, cancelled: Trials
) -> None:
    trial = cancelled[case]
    _check_cancelled(case, trial)
    if case.is_on_node:
        entry = trial.result.node_steps[case.step.name]
        assert (entry.state, entry.carried_out) == ("cancelled", 1)
    record_covered("cancelled", case)


@pytest.mark.parametrize("case", ON_NODE, ids=str)
def test_a_job_that_is_cancelled_while_no_worker_runs_leaves_no_process(
    case: Case, cancelled_without_worker: Trials
) -> None:
    _check_cancelled(case, cancelled_without_worker[case])
    record_covered("cancelled without a worker", case)


@pytest.mark.parametrize("case", LAST_STEPS, ids=lambda case: case.workflow.name)
async def test_a_job_that_is_cancelled_before_it_is_claimed_never_begins(
    case: Case, harness: Harness
) -> None:
    (trial,) = await prepare(harness, [case])
    queue = await harness.lock_queue()
    try:
        job = trial.job = await case.scenario.start(harness, trial.site)
        assert (await cancel(harness, job))["status"] == "failed"
        assert (await cancel(harness, job, status=409))["error"]["code"] == "job.already_final"
    finally:
        queue.terminate()
    outcome = await observe(harness, job)
    assert outcome.error is not None
    assert outcome.error["code"] == JobCancelled.code
    assert (outcome.control_steps, outcome.node_steps) == (set(), {})
    own_event = [] if case.scenario.failure_event is None else [case.scenario.failure_event]
    assert sorted(outcome.events) == sorted([*own_event, "job.failed"])
    check_site(outcome, case.scenario.cancelled_before_start, reason=MESSAGE)
    await follow_up(harness, [trial])
    assert (trial.error, trial.follow_up_status) == (None, "succeeded")


async def test_jobs_that_wait_for_a_cancelled_job_run_in_their_order(harness: Harness) -> None:
    await harness.node.set_step_seconds(0)
    site = await running_site(harness)
    queue = await harness.lock_queue()
    first, second, third = [await restart(harness, site) for _ in range(3)]
    harness.node.hold([(first, "restart")])
    queue.terminate()
    await harness.node.wait_until_held([(first, "restart")])
    await cancel(harness, second)
    assert not harness.node.steps(third)
    await cancel(harness, first)
    await harness.ended(first, second, third)
    rows = await harness.sql(
        "select status, error ->> 'code' from jobs where site_id = $1 order by id", site.id
    )
    assert [tuple(row) for row in rows[1:]] == [
        ("failed", JobCancelled.code),
        ("failed", JobCancelled.code),
        ("succeeded", None),
    ]
    assert not harness.node.steps(second)
