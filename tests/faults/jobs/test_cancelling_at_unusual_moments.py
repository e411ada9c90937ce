"""Cancelling a job that is being undone, or that is claimed but not started; sites of cancelled jobs."""

import asyncio

import pytest

from stead.control.jobs.rules import JobCancelled
from stead.dev.engines.temporal import Temporal
from tests.faults.jobs.cases import LAST_STEPS, Case
from tests.faults.jobs.checks import check_failed
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.outcomes import observe
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import refusal_of
from tests.faults.jobs.sites import deploy, deploy_nowhere, new_site, restart, running_site
from tests.faults.jobs.trials import (
    Trial,
    cancel,
    prepare,
    start,
    wait_until_cancellation_sent,
)

pytestmark = pytest.mark.faults

UNDONE_ON_NODE = [
    case
    for case in LAST_STEPS
    if not case.is_on_node
    and case.may_refuse
    and any(step.undo_command for step in case.workflow.steps.values())
]
"""Kinds of job whose last step can refuse, after a step that is undone on the node."""


@pytest.mark.parametrize("case", UNDONE_ON_NODE, ids=lambda case: case.workflow.name)
async def test_a_job_that_is_cancelled_while_it_is_undone_is_undone_completely(
    case: Case, harness: Harness
) -> None:
    (trial,) = await prepare(harness, [case])
    undone_first = f"undo-{[step for step in case.begun_steps if step.undo_command][-1].name}"

    async def refuse(trial: Trial) -> None:
        trial.note = await refusal_of(case.workflow, case.step.name)(harness, trial.site)
        harness.node.hold([(trial.job, undone_first)])

    await start(harness, [trial], refuse)
    held = trial.job, undone_first
    await harness.node.wait_until_held([held])
    await cancel(harness, trial.job)
    await wait_until_cancellation_sent(harness, trial)
    harness.node.release(held)
    await harness.ended(trial.job)
    outcome = await observe(harness, trial.job)
    check_failed(case, outcome, trial.note.code, trial.note.message, refused=True)
    assert outcome.hosts == (outcome.own_hosts if case.scenario.failed.routed else set())
    assert outcome.is_on_node == case.scenario.failed.on_node


async def test_a_job_that_is_cancelled_between_claim_and_start_is_cancelled(harness: Harness) -> None:
    await harness.node.set_step_seconds(0)
    site = await running_site(harness)
    await harness.stack.kill(Temporal)
    try:
        job = await restart(harness, site)
        claimed = "select from jobs where id = $1 and dispatched_at is not null"
        await until(lambda: harness.sql(claimed, job), "a worker has claimed it")
        assert (await cancel(harness, job))["status"] == "queued"
    finally:
        await harness.stack.start(Temporal)
    await harness.ended(job)
    outcome = await observe(harness, job)
    assert outcome.error is not None
    assert (outcome.status, outcome.error["code"]) == ("failed", JobCancelled.code)
    assert not any(entry.carried_out for entry in outcome.node_steps.values())


async def test_a_site_whose_deployment_failed_is_not_running_after_a_restart_with_nothing_to_show(
    harness: Harness,
) -> None:
    await harness.node.set_step_seconds(0)
    site = await new_site(harness)
    await harness.ended(await deploy_nowhere(harness, site))
    answer = await harness.client.post(f"/v1/sites/{site.id}/restart")
    if answer.status_code == 202:
        job = answer.json()["data"]["id"]
        await harness.ended(job)
        outcome = await observe(harness, job)
        served = outcome.is_on_node and bool(outcome.hosts)
        assert (outcome.site["status"] == "running") == served, outcome.site
    else:
        assert answer.status_code == 409


async def test_jobs_of_other_sites_go_on_while_one_is_cancelled(harness: Harness) -> None:
    await harness.node.set_step_seconds(0)
    site = await running_site(harness)
    queue = await harness.lock_queue()
    held = await restart(harness, site)
    harness.node.hold([(held, "restart")])
    queue.terminate()
    await harness.node.wait_until_held([(held, "restart")])
    others = [await new_site(harness) for _ in range(4)]
    jobs = [await deploy(harness, other) for other in others]
    await cancel(harness, held)
    await asyncio.gather(*(harness.ended(job) for job in (held, *jobs)))
    rows = await harness.sql("select status from jobs where id = any($1)", jobs)
    assert {status for (status,) in rows} == {"succeeded"}
