"""A cancelled job stops what it runs, undoes what it began, and makes way for the next."""

import asyncio
from typing import Any

import pytest
from temporalio.api.enums.v1 import EventType

from stead.control.jobs.rules import JobCancelled
from tests.faults.jobs import checks
from tests.faults.jobs.cases import (
    CASES,
    EACH,
    Case,
    Trial,
    Trials,
    caught,
    go_on,
    halves,
    let_go,
    observe,
    prepared,
    queue_held,
    watched,
)
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import is_sleep
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import restart, running_site

pytestmark = pytest.mark.faults

CANCELLED = str(JobCancelled())
ON_NODE = [case for case in CASES if case.on_node]


@pytest.fixture(scope="module")
async def cancelled(harness: Harness) -> Trials:
    """In each step; half of the control steps may go on at once, half when the workflow has been told."""
    trials = await caught(harness, CASES)
    temporal = await harness.temporal()
    for trial in trials:
        await cancel(harness, trial.job)
        await cancel(harness, trial.job)
    early, late = halves([trial for trial in trials if trial.hold is not None])
    for trial in early:
        await until(_sent, "the cancellation was sent", harness, trial)
        await let_go(harness, trial)
    for trial in late:
        await until(_told, "the workflow was told", temporal, trial)
        await let_go(harness, trial)
    return await followed(harness, trials)


@pytest.fixture(scope="module")
async def cancelled_without_a_worker(harness: Harness) -> Trials:
    """The worker that could stop the step on the node is dead, and nobody has taken its place yet."""
    trials = await caught(harness, ON_NODE)
    for worker in harness.workers:
        await worker.kill()
    for trial in trials:
        await cancel(harness, trial.job)
    for worker in harness.workers:
        worker.start()
    return await followed(harness, trials)


async def followed(harness: Harness, trials: list[Trial]) -> Trials:
    """Until each has ended and one more job of its site has, which had to wait for it."""
    await asyncio.gather(*(_end(harness, trial) for trial in trials))
    found = await watched(harness, trials)
    await harness.node.work_at(0)
    whole = [trial for trial in trials if trial.error is None]
    await asyncio.gather(*(_too_late(harness, trial) for trial in whole))
    await asyncio.gather(*(go_on(harness, trial) for trial in whole))
    return found


async def _end(harness: Harness, trial: Trial) -> None:
    """Notes whether the step's process is still there in the moment in which the job has ended."""
    try:
        await harness.ended(trial.job)
    except AssertionError as error:
        trial.error = error
    trial.note = [is_sleep(trial.pid)]


async def _too_late(harness: Harness, trial: Trial) -> None:
    try:
        trial.note.append((await cancel(harness, trial.job, status=409))["error"]["code"])
    except AssertionError as error:
        trial.error = error


async def cancel(harness: Harness, job: str, *, status: int = 202) -> dict[str, Any]:
    return await harness.ask("POST", f"/v1/jobs/{job}/cancel", status=status)


async def _sent(harness: Harness, trial: Trial) -> list[Any]:
    return await harness.sql("select from jobs where id = $1 and cancel_sent_at is not null", trial.job)


async def _told(temporal: Any, trial: Trial) -> bool:
    history = await temporal.get_workflow_handle(trial.job).fetch_history()
    kinds = [event.event_type for event in history.events]
    asked = EventType.EVENT_TYPE_WORKFLOW_EXECUTION_CANCEL_REQUESTED
    return asked in kinds and EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED in kinds[kinds.index(asked) :]


def _ended_well(case: Case, trial: Trial) -> None:
    seen = trial.seen
    checks.failed(case, seen, JobCancelled.code, CANCELLED)
    checks.left(seen, case.scenario.failed_in(case.step.name), reason=CANCELLED)
    assert trial.note == [False, "job.already_final"], "its process is gone, and cancelling it is too late"
    assert trial.following == "succeeded"


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_job_that_is_cancelled_in_a_step_is_undone_and_makes_way(case: Case, cancelled: Trials) -> None:
    trial = cancelled[case]
    _ended_well(case, trial)
    if case.on_node:
        entry = trial.seen.node[case.step.name]
        assert (entry.state, entry.carried_out) == ("cancelled", 1)
    checks.tried("cancelled", case)


@pytest.mark.parametrize("case", ON_NODE, ids=str)
def test_a_job_that_is_cancelled_while_no_worker_lives_leaves_nothing_running(
    case: Case, cancelled_without_a_worker: Trials
) -> None:
    _ended_well(case, cancelled_without_a_worker[case])
    checks.tried("cancelled without a worker", case)


@pytest.mark.parametrize("case", EACH, ids=lambda it: it.kind.name)
async def test_a_job_that_is_cancelled_before_it_is_taken_up_never_begins(
    case: Case, harness: Harness
) -> None:
    (trial,) = await prepared(harness, [case], pace=0)
    queue = await queue_held(harness)
    try:
        job = trial.job = await case.scenario.start(harness, trial.site)
        assert (await cancel(harness, job))["status"] == "failed"
        assert (await cancel(harness, job, status=409))["error"]["code"] == "job.already_final"
    finally:
        queue.terminate()
    seen = await observe(harness, job)
    assert seen.error is not None
    assert seen.error["code"] == JobCancelled.code
    assert (seen.control, seen.node) == (set(), {})
    told = [] if case.scenario.failure_event is None else [case.scenario.failure_event]
    assert sorted(seen.events) == sorted([*told, "job.failed"])
    checks.left(seen, case.scenario.cancelled_early, reason=CANCELLED)
    following = await case.scenario.afterwards(harness, trial.site)
    await harness.ended(following)
    assert (await observe(harness, following)).status == "succeeded"


async def test_jobs_that_wait_for_a_cancelled_one_run_in_their_order(harness: Harness) -> None:
    await harness.node.work_at(0)
    site = await running_site(harness)
    await harness.node.work_at(1.2)
    first, second, third = [await restart(harness, site) for _ in range(3)]
    await harness.node.freeze({(first, "restart")})
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
