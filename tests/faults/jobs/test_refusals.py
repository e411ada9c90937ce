"""A step refuses: the steps that had begun are undone, and the job and the site state the reason."""

from collections.abc import Sequence

import pytest

from tests.faults.jobs.cases import HELD, LAST_STEPS, Case
from tests.faults.jobs.checks import (
    check_failed,
    check_site,
    check_site_after_refusal,
    check_succeeded,
    record_covered,
)
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.scenarios import Refusal, refusal_of
from tests.faults.jobs.trials import Trial, Trials, conclude, prepare, run_in_batches, start

pytestmark = pytest.mark.faults

REFUSING = [case for case in HELD if case.may_refuse]
GOING_ON = [case for case in HELD if case.goes_on_after_refusal]


@pytest.fixture(scope="module")
async def undisturbed(harness: Harness) -> Trials:
    """Every kind of job once without a fault."""

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        trials = await prepare(harness, cases)
        await start(harness, trials)
        await conclude(harness, trials)
        return trials

    return await run_in_batches(LAST_STEPS, run)


@pytest.fixture(scope="module")
async def refused(harness: Harness, undisturbed: Trials) -> Trials:
    last_step = {case.workflow: case for case in LAST_STEPS}
    lines: list[str] = []

    async def refuse(trial: Trial) -> None:
        case = trial.case
        if case.is_on_node:
            # The journal of the undisturbed job says which kind of work the step sends to the node.
            work = undisturbed[last_step[case.workflow]].result.node_steps[case.step.name].work
            # Only in this step: its undo may send the same kind of work.
            lines.append(f"{work} {trial.job} {case.step.name}")
            harness.node.fail_at(*lines)
            trial.note = Refusal("sandbox.told_to_fail", f"the simulator was told to fail at {work}")
        else:
            trial.note = await refusal_of(case.workflow, case.step.name)(harness, trial.site)

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        trials = await prepare(harness, cases)
        await start(harness, trials, refuse)
        await conclude(harness, trials)
        return trials

    return await run_in_batches([*REFUSING, *GOING_ON], run)


@pytest.mark.parametrize("case", LAST_STEPS, ids=lambda case: case.workflow.name)
def test_a_job_without_a_fault_does_each_of_its_steps_once(case: Case, undisturbed: Trials) -> None:
    check_succeeded(case, undisturbed[case].result)


@pytest.mark.parametrize("case", REFUSING, ids=str)
def test_a_step_that_refuses_undoes_the_job_and_states_the_reason(case: Case, refused: Trials) -> None:
    trial = refused[case]
    outcome, refusal = trial.result, trial.note
    check_failed(case, outcome, refusal.code, refusal.message, refused=True)
    check_site_after_refusal(case, outcome, refusal)
    if outcome.site["status"] == "deleted":
        assert outcome.site["recoverable_until"] == trial.site_before["recoverable_until"]
    if case.is_on_node:
        assert outcome.node_steps[case.step.name].state == "refused"
    record_covered("refusal", case)


@pytest.mark.parametrize("case", GOING_ON, ids=str)
def test_a_job_that_does_not_need_a_step_succeeds_without_it(case: Case, refused: Trials) -> None:
    outcome = refused[case].result
    assert (outcome.status, outcome.error) == ("succeeded", None)
    assert outcome.node_steps[case.step.name].state == "refused"
    check_site(outcome, case.scenario.succeeded)
    record_covered("refusal", case)
