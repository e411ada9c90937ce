"""Cancelling while a job is being undone, or is claimed but not started; and what a cancelled site may do."""

import asyncio
from typing import Any

import pytest

from stead.control.jobs.rules import JobCancelled
from stead.dev.engines.temporal import Temporal
from tests.faults.jobs import checks
from tests.faults.jobs.cases import EACH, Case, Trial, observe, prepared, started
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import deploy, new_site, refusal_of, restart, running_site

pytestmark = pytest.mark.faults

UNDONE_ON_NODE = [
    case
    for case in EACH
    if not case.on_node and case.may_refuse and any(step.undo_command for step in case.kind.steps.values())
]
"""Kinds whose last step refuses, with something to be undone on the node."""


async def _cancel(harness: Harness, job: str) -> dict[str, Any]:
    return await harness.ask("POST", f"/v1/jobs/{job}/cancel")


@pytest.mark.parametrize("case", UNDONE_ON_NODE, ids=lambda it: it.kind.name)
async def test_a_job_that_is_cancelled_while_it_is_undone_is_undone_wholly(
    case: Case, harness: Harness
) -> None:
    (trial,) = await prepared(harness, [case], pace=0.5)

    async def refuse(trial: Trial) -> None:
        trial.note = await refusal_of(case.kind, case.step.name)(harness, trial.site)

    await started(harness, [trial], refuse)
    undoing = [step for step in case.begun if step.undo_command][-1]
    place = trial.job, f"undo-{undoing.name}"
    await harness.node.freeze({place})
    await _cancel(harness, trial.job)
    sent = "select from jobs where id = $1 and cancel_sent_at is not null"
    await until(lambda: harness.sql(sent, trial.job), "the cancellation was sent")
    harness.node.thaw(place)
    await harness.ended(trial.job)
    seen = await observe(harness, trial.job)
    checks.failed(case, seen, trial.note.code, trial.note.message, refused=True)
    assert seen.hosts == (seen.names if case.scenario.failed.routed else set())
    assert seen.carried == case.scenario.failed.carried


async def test_a_job_that_is_cancelled_after_it_was_claimed_and_before_it_was_started_is_cancelled(
    harness: Harness,
) -> None:
    await harness.node.work_at(0)
    site = await running_site(harness)
    await harness.stack.kill(Temporal)
    try:
        job = await restart(harness, site)
        claimed = "select from jobs where id = $1 and dispatched_at is not null"
        await until(lambda: harness.sql(claimed, job), "a worker has claimed it")
        assert (await _cancel(harness, job))["status"] == "queued"
    finally:
        await harness.stack.start(Temporal)
    await harness.ended(job)
    seen = await observe(harness, job)
    assert seen.error is not None
    assert (seen.status, seen.error["code"]) == ("failed", JobCancelled.code)
    assert not any(entry.carried_out for entry in seen.node.values())


async def test_a_site_whose_deployment_failed_is_not_running_after_a_restart_with_nothing_to_show(
    harness: Harness,
) -> None:
    await harness.node.work_at(0)
    site = await new_site(harness)
    await harness.ended(await deploy(harness, site, region="nowhere"))
    answer = await harness.client.post(f"/v1/sites/{site.id}/restart")
    if answer.status_code == 202:
        job = answer.json()["data"]["id"]
        await harness.ended(job)
        seen = await observe(harness, job)
        assert (seen.site["status"] == "running") == (seen.carried and bool(seen.hosts)), seen.site
    else:
        assert answer.status_code == 409


async def test_jobs_of_other_sites_go_on_while_one_is_cancelled(harness: Harness) -> None:
    await harness.node.work_at(0)
    site = await running_site(harness)
    await harness.node.work_at(1.0)
    held = await restart(harness, site)
    await harness.node.freeze({(held, "restart")})
    others = [await new_site(harness) for _ in range(4)]
    jobs = [await deploy(harness, other) for other in others]
    await _cancel(harness, held)
    await asyncio.gather(*(harness.ended(job) for job in (held, *jobs)))
    rows = await harness.sql("select status from jobs where id = any($1)", jobs)
    assert {status for (status,) in rows} == {"succeeded"}
