"""A step that refuses: what was begun is undone, and the job and the site say why."""

from dataclasses import replace

import pytest

from tests.faults.jobs import checks
from tests.faults.jobs.cases import CASES, EACH, Case, Trial, Trials, prepared, started, watched
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import Refusal, refusal_of

pytestmark = pytest.mark.faults

REFUSING = [case for case in CASES if case.may_refuse]


@pytest.fixture(scope="module")
async def rehearsed(harness: Harness) -> Trials:
    """Each kind once without a fault."""
    trials = await prepared(harness, EACH, pace=0)

    async def nothing(_: Trial) -> None:
        return

    await started(harness, trials, nothing)
    return await watched(harness, trials)


@pytest.fixture(scope="module")
async def refused(harness: Harness, rehearsed: Trials) -> Trials:
    trials = await prepared(harness, REFUSING, pace=0)
    whole = {case.kind: case for case in EACH}
    orders: list[str] = []

    async def refuse(trial: Trial) -> None:
        if trial.case.on_node:
            # What the node is asked to do in this step was seen when all went well.
            work = rehearsed[whole[trial.case.kind]].seen.node[trial.case.step.name].work
            orders.append(f"{work} {trial.job}")
            harness.node.fail_at(*orders)
            message = f"the simulator was told to fail at {work}"
            trial.note = Refusal("sandbox.told_to_fail", message)
        else:
            trial.note = await refusal_of(trial.case.kind, trial.case.step.name)(harness, trial.site)

    await started(harness, trials, refuse)
    return await watched(harness, trials)


@pytest.mark.parametrize("case", EACH, ids=lambda it: it.kind.name)
def test_a_job_without_a_fault_does_each_of_its_steps_once(case: Case, rehearsed: Trials) -> None:
    checks.succeeded(case, rehearsed[case].seen)


@pytest.mark.parametrize("case", REFUSING, ids=str)
def test_a_step_that_refuses_undoes_what_was_begun_and_says_why(case: Case, refused: Trials) -> None:
    trial = refused[case]
    seen, refusal = trial.seen, trial.note
    checks.failed(case, seen, refusal.code, refusal.message, refused=True)
    expected = case.scenario.failed_in(case.step.name)
    if refusal.status is not None:
        expected = replace(expected, status=refusal.status, reason=False)
    if refusal.placed is not None:
        expected = replace(expected, placed=refusal.placed)
    checks.left(seen, expected, reason=refusal.message)
    if seen.site["status"] == "deleted":
        assert seen.site["recoverable_until"] == trial.before["recoverable_until"]
    if case.on_node:
        assert seen.node[case.step.name].state == "refused"
    checks.tried("refusal", case)
