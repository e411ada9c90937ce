"""Steps in which the worker itself works for long: the worker is killed, the engines crash, or the job is
cancelled."""

from collections.abc import Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest

from stead.control.jobs.rules import JobCancelled
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.engines.temporal import Temporal
from tests.faults.jobs.cases import LONG, Case
from tests.faults.jobs.checks import check_failed, check_site, check_succeeded, record_covered
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.long_steps import object_store_stopped
from tests.faults.jobs.outcomes import observe
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import Hold, IsInStep, LongStep, Start
from tests.faults.jobs.sites import SiteUnderTest, require_success
from tests.faults.jobs.trials import Trial, Trials, cancel, conclude, run_in_batches

pytestmark = pytest.mark.faults

ENGINES = (SeaweedFS, Nats, Temporal, Postgres)


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


@pytest.fixture(scope="module")
async def crashed(harness: Harness) -> Trials:
    """One crash of all engines for jobs in every long step."""

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        # Steps that need the object store come last: while it is stopped, no job gets any further.
        ordered = sorted(cases, key=lambda case: _long_step(case).hold is object_store_stopped)
        prepared = [await _prepare(harness, case) for case in ordered]
        trials = [Trial(case, site) for case, (site, _) in zip(ordered, prepared, strict=True)]
        async with AsyncExitStack() as holds:
            held: dict[Hold, IsInStep] = {}
            for trial, (site, start) in zip(trials, prepared, strict=True):
                hold = _long_step(trial.case).hold
                if hold not in held:
                    held[hold] = await holds.enter_async_context(hold(harness))
                trial.job = await start(harness, site)
                await until(held[hold], f"the job is in {trial.case}", trial.job)
            for engine in ENGINES:
                await harness.stack.kill(engine)
            for engine in ENGINES:
                await harness.stack.start(engine)
        await conclude(harness, trials)
        for trial in trials:
            trial.note = len(await _artifacts(harness, trial.site))
        return trials

    return await run_in_batches(LONG, run)


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
def test_a_long_step_in_which_all_engines_crash_is_finished(case: Case, crashed: Trials) -> None:
    trial = crashed[case]
    check_succeeded(case, trial.result)
    assert trial.note == _long_step(case).artifacts[0]
    record_covered("engines restarted", case)


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
