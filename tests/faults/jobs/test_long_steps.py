"""Steps in which the worker itself works for long: the worker is killed, or the job is cancelled."""

from typing import Any

import pytest

from stead.control.jobs.rules import JobCancelled
from tests.faults.jobs.cases import LONG, Case
from tests.faults.jobs.checks import check_failed, check_site, check_succeeded, record_covered
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.outcomes import observe
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import LongStep, Start
from tests.faults.jobs.sites import SiteUnderTest, require_success
from tests.faults.jobs.trials import cancel

pytestmark = pytest.mark.faults


def _long_step(case: Case) -> LongStep:
    long_steps = case.scenario.long_steps
    assert case.step.name in long_steps, f"Add it to `long_steps` of the scenario of {case.workflow.name}."
    return long_steps[case.step.name]


async def _prepare(harness: Harness, case: Case) -> tuple[SiteUnderTest, Start]:
    """A site, and the function that starts its job."""
    await harness.node.set_step_seconds(0)
    step = _long_step(case)
    site = await (step.prepare or case.scenario.prepare)(harness)
    return site, step.start or case.scenario.start


async def _artifacts(harness: Harness, site: SiteUnderTest) -> list[Any]:
    return await harness.sql("select id from artifacts where site_id = $1", site.id)


@pytest.mark.parametrize("case", LONG, ids=str)
async def test_a_long_step_whose_worker_is_killed_is_done_by_another_worker(
    case: Case, harness: Harness
) -> None:
    step = _long_step(case)
    site, start = await _prepare(harness, case)
    async with step.hold(harness) as is_in_step:
        job = await start(harness, site)
        await until(is_in_step, f"the job is in {case}", job)
        for worker in harness.workers:
            await worker.kill()
            worker.start()
    await harness.ended(job)
    check_succeeded(case, await observe(harness, job))
    assert len(await _artifacts(harness, site)) == step.artifacts[0]
    record_covered("worker killed", case)


@pytest.mark.parametrize("case", LONG, ids=str)
async def test_a_long_step_that_is_cancelled_leaves_nothing_and_unlocks_the_site(
    case: Case, harness: Harness
) -> None:
    step = _long_step(case)
    site, start = await _prepare(harness, case)
    async with step.hold(harness) as is_in_step:
        job = await start(harness, site)
        await until(is_in_step, f"the job is in {case}", job)
        await cancel(harness, job)
        await harness.ended(job)
    outcome = await observe(harness, job)
    check_failed(case, outcome, JobCancelled.code, JobCancelled.message)
    check_site(outcome, case.scenario.failed)
    assert len(await _artifacts(harness, site)) == step.artifacts[1]
    await require_success(harness, await start(harness, site))
    record_covered("cancelled", case)
