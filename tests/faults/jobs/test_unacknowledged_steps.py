"""Faults after a step has had its effect and before the job knows: nothing is done twice, nothing is lost.

The hold points of the other files are before the effect. An announcement is not covered here: the jobs of
`test_announcements` have announced when the fault happens.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

import pytest

from stead.control.sites.workflows import DEPLOY
from stead.dev.engines.postgres import Postgres
from tests.faults.jobs.cases import (
    LIVE_ON_NODE,
    SIMULATED_ON_NODE,
    TRANSACTIONS,
    Case,
)
from tests.faults.jobs.checks import check_succeeded, record_covered
from tests.faults.jobs.commits import (
    break_commits,
    commits_can_be_held,
    hold_commit,
    release_commits,
    wait_until_committed,
)
from tests.faults.jobs.harness import Harness, Mode
from tests.faults.jobs.programs import until
from tests.faults.jobs.trials import (
    Trial,
    Trials,
    conclude,
    prepare,
    run_in_batches,
    start,
)

pytestmark = pytest.mark.faults

Fault = Callable[[Harness], Awaitable[None]]

FIRST_AND_LAST = [case for case in TRANSACTIONS if case.workflow is DEPLOY]
"""The first and the last step of one kind of job. What a worker does after a crash is the same for all."""
MODES: tuple[Mode, ...] = ("live", "test")


async def _kill_workers(harness: Harness) -> None:
    await harness.kill_workers()
    await release_commits(harness)
    harness.start_workers()


async def _crash_postgresql(harness: Harness) -> None:
    await harness.stack.kill(Postgres)
    await harness.stack.start(Postgres)


FAULTS: dict[str, Fault] = {
    "worker killed": _kill_workers,
    "PostgreSQL restarted": _crash_postgresql,
}


@pytest.fixture(scope="module")
async def holdable(harness: Harness) -> AsyncIterator[Harness]:
    async with commits_can_be_held(harness):
        yield harness


async def _start_and_hold(harness: Harness, cases: Sequence[Case]) -> list[Trial]:
    """Start a job for each case. It will be held when the transaction of the case is committed."""
    trials = await prepare(harness, cases)

    async def hold(trial: Trial) -> None:
        await hold_commit(harness, *trial.job_step)

    await start(harness, trials, hold)
    return trials


@pytest.fixture(scope="module")
async def connections_lost(holdable: Harness) -> Trials:
    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        trials = await _start_and_hold(holdable, cases)
        await break_commits(holdable, len(trials))
        await conclude(holdable, trials)
        return trials

    return await run_in_batches(TRANSACTIONS, run)


@pytest.fixture(scope="module")
async def committed(holdable: Harness, request: pytest.FixtureRequest) -> Trials:
    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        trials = await _start_and_hold(holdable, cases)
        await wait_until_committed(holdable)
        await FAULTS[request.param](holdable)
        await conclude(holdable, trials)
        return trials

    return await run_in_batches(FIRST_AND_LAST, run, size=1)


@pytest.fixture(scope="module")
async def done(harness: Harness) -> AsyncIterator[Trials]:
    """The node is killed when it has done the steps of live and of simulated sites."""

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        modes: dict[Mode, list[Trial]] = {}
        for mode in MODES:
            harness.speak_as(mode)
            modes[mode] = await prepare(harness, [case for case in cases if case.live == (mode == "live")])
        trials = [trial for each in modes.values() for trial in each]
        await harness.node.hold_after_effects()

        async def hold(_: Trial) -> None:
            harness.node.hold_after(trial.job_step for trial in trials if trial.job)

        for mode in MODES:
            harness.speak_as(mode)
            await start(harness, modes[mode], hold)
        for trial in trials:
            await until(_is_done, f"{trial.case} is done", harness, trial)
        await harness.node.kill()
        harness.node.start()
        await conclude(harness, trials)
        return trials

    # All at once: a step that is held after its effect keeps no connection to the database.
    cases = [*LIVE_ON_NODE, *SIMULATED_ON_NODE]
    yield await run_in_batches(cases, run, size=len(cases))
    harness.speak_as("test")


async def _is_done(harness: Harness, trial: Trial) -> bool:
    return harness.node.is_held_after(trial.job_step)


@pytest.mark.parametrize("case", TRANSACTIONS, ids=str)
def test_a_step_whose_commit_loses_its_connection_is_not_done_again(
    case: Case, connections_lost: Trials
) -> None:
    check_succeeded(case, connections_lost[case].result)
    record_covered("committed, connection lost", case)


@pytest.mark.parametrize("committed", FAULTS, indirect=True, scope="module")
@pytest.mark.parametrize("case", FIRST_AND_LAST, ids=str)
def test_a_step_that_is_committed_and_not_acknowledged_is_not_done_again(
    case: Case, committed: Trials, request: pytest.FixtureRequest
) -> None:
    check_succeeded(case, committed[case].result)
    record_covered(f"committed, {request.node.callspec.params['committed']}", case)


def _check_done_twice(case: Case, trial: Trial) -> None:
    check_succeeded(case, trial.result, times=2)
    assert trial.result.node_steps[case.position].carried_out == 2, "the effect was there before the restart"
    record_covered("done, node killed", case)


@pytest.mark.parametrize("case", SIMULATED_ON_NODE, ids=str)
def test_a_step_that_the_simulator_has_done_is_repeated_when_its_node_is_killed(
    case: Case, done: Trials
) -> None:
    _check_done_twice(case, done[case])


@pytest.mark.parametrize("case", LIVE_ON_NODE, ids=str)
def test_a_step_that_a_real_driver_has_done_is_repeated_when_its_node_is_killed(
    case: Case, done: Trials
) -> None:
    _check_done_twice(case, done[case])
