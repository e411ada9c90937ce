"""A worker or a node that is killed in a step: another one, or the same one anew, finishes the job."""

from typing import Any

import psutil
import pytest

from tests.faults.jobs import checks
from tests.faults.jobs.cases import (
    CASES,
    Case,
    Trial,
    Trials,
    blocked,
    caught,
    halves,
    let_go,
    watched,
)
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import PACE, is_sleep
from tests.faults.jobs.programs import until

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
async def workers_killed(harness: Harness) -> Trials:
    """Both, so that whoever executed a step is gone. Of the steps on the node, half end while no worker is
    there, and half when somebody has asked again."""
    trials = await caught(harness, CASES)
    temporal = await harness.temporal()
    for trial in trials:
        trial.note = await until(_executor, "somebody executes it", harness, temporal, trial)
    doomed = [worker.pid for worker in harness.workers]
    for worker in harness.workers:
        await worker.kill()
    early, late = halves(trials)
    await let_go(harness, *early)
    for worker in harness.workers:
        worker.start()
    for trial in late:
        await until(_asked_again, f"{trial.case} is asked for again", harness, trial)
        await let_go(harness, trial)
    for trial in trials:
        trial.note = trial.note in doomed
    return await watched(harness, trials)


async def _executor(harness: Harness, temporal: Any, trial: Trial) -> int | None:
    """The process that executes the step now."""
    if trial.hold is not None:
        ports = {port for (port,) in await blocked(harness, trial)}
        for worker in harness.workers:
            if ports & {it.laddr.port for it in psutil.Process(worker.pid).net_connections("tcp")}:
                return worker.pid
        return None
    found = await temporal.get_workflow_handle(trial.job).describe()
    (pending,) = found.raw_description.pending_activities
    return int(pending.last_worker_identity.partition("@")[0] or 0) or None


async def _asked_again(harness: Harness, trial: Trial) -> bool:
    if trial.hold is not None:
        return await _executor(harness, None, trial) is not None
    return harness.node.steps(trial.job)[trial.case.step.name].epoch > 1


@pytest.fixture(scope="module")
async def node_killed(harness: Harness) -> Trials:
    trials = await caught(harness, CASES)
    await harness.node.kill()
    early, late = halves(trials)
    await let_go(harness, *(trial for trial in early if trial.hold is not None))
    harness.node.start(PACE)
    await let_go(harness, *(trial for trial in late if trial.hold is not None))
    found = await watched(harness, trials)
    for trial in trials:
        trial.note = is_sleep(trial.pid)
    return found


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_job_whose_worker_is_killed_in_a_step_is_finished_by_another(
    case: Case, workers_killed: Trials
) -> None:
    trial = workers_killed[case]
    checks.succeeded(case, trial.seen)
    assert trial.note, "the process that executed the step was killed"
    checks.tried("worker killed", case)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_job_whose_node_is_killed_in_a_step_is_finished_when_it_is_back(
    case: Case, node_killed: Trials
) -> None:
    trial = node_killed[case]
    checks.succeeded(case, trial.seen, times=2)
    assert not trial.note, "what the killed node had started is gone"
    checks.tried("node killed", case)
