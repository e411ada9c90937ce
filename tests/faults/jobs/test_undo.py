"""Everything is killed at once while failed jobs are undone: each is undone once, and completely."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.temporal import Temporal
from tests.faults.jobs.cases import UNDONE, Case
from tests.faults.jobs.checks import check_failed, check_site_after_refusal, record_covered
from tests.faults.jobs.commits import break_commits, commits_can_be_held, hold_commit
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import refusal_of
from tests.faults.jobs.trials import Trial, Trials, conclude, halves, holding, release, run_in_batches

pytestmark = pytest.mark.faults

ENGINES = (Nats, Temporal, Postgres)
DONE = [replace(case, done=True) for case in UNDONE]
DONE_ON_NODE = [case for case in DONE if case.is_on_node]
COMMITTED = [case for case in DONE if case.is_transaction]


async def _refuse_last_step(harness: Harness, trial: Trial) -> None:
    last = trial.case.last
    trial.note = await refusal_of(last.workflow, last.step.name)(harness, trial.site)


async def _kill_everything(harness: Harness, held: Sequence[Trial]) -> None:
    """The steps of one half end while nothing runs, those of the other when everything is back."""
    early, late = halves(held)
    await harness.kill_workers()
    await harness.node.kill()
    for engine in ENGINES:
        await harness.stack.kill(engine)
    await release(harness, *early)
    for engine in ENGINES:
        await harness.stack.start(engine)
    harness.start_workers()
    harness.node.start()
    await release(harness, *late)


@pytest.fixture(scope="module")
async def undone(harness: Harness) -> AsyncIterator[Trials]:
    """Undo steps are held before their effect, after it on the node, and after their commit."""
    on_node: list[Trial] = []

    async def hold(trial: Trial) -> None:
        await _refuse_last_step(harness, trial)
        if trial.case in COMMITTED:
            await hold_commit(harness, *trial.job_step)
        elif trial.case.done:
            on_node.append(trial)
            harness.node.hold_after(each.job_step for each in on_node)

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        on_node.clear()
        breaking: list[asyncio.Task[None]] = []

        async def prepared() -> None:
            await harness.node.hold_after_effects()
            number = sum(case in COMMITTED for case in cases)
            breaking.append(asyncio.create_task(break_commits(harness, number)))

        async with holding(harness, cases, before=hold, prepared=prepared) as trials:
            await asyncio.gather(*breaking)
            for trial in on_node:
                await until(_is_undone, f"{trial.case} is undone", harness, trial)
            await _kill_everything(harness, [trial for trial in trials if not trial.case.done])
            await conclude(harness, trials)
        return trials

    async with commits_can_be_held(harness):
        yield await run_in_batches([*UNDONE, *DONE], run)


async def _is_undone(harness: Harness, trial: Trial) -> bool:
    return harness.node.is_held_after(trial.job_step)


def _check_undone(case: Case, trial: Trial) -> None:
    outcome, refusal = trial.result, trial.note
    check_failed(case.last, outcome, refusal.code, refusal.message, refused=True, repeated=case.position)
    check_site_after_refusal(case.last, outcome, refusal)


@pytest.mark.parametrize("case", UNDONE, ids=str)
def test_a_job_is_undone_completely_when_everything_is_killed_in_an_undo_step(
    case: Case, undone: Trials
) -> None:
    _check_undone(case, undone[case])
    record_covered("undoing, everything killed", case)


@pytest.mark.parametrize("case", DONE_ON_NODE, ids=str)
def test_an_undo_step_that_is_done_is_repeated_when_its_node_is_killed(case: Case, undone: Trials) -> None:
    _check_undone(case, undone[case])
    assert undone[case].result.node_steps[case.position].carried_out == 2
    record_covered("undone, node killed", case)


@pytest.mark.parametrize("case", COMMITTED, ids=str)
def test_an_undo_step_that_is_committed_and_not_acknowledged_is_not_done_again(
    case: Case, undone: Trials
) -> None:
    _check_undone(case, undone[case])
    record_covered("undone, connection lost", case)
