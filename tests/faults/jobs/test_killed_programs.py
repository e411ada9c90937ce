"""A worker is killed or replaced, or a node is killed, in a step: the job is finished when one is back."""

from collections.abc import Sequence
from typing import Any

import psutil
import pytest

from tests.faults.jobs.cases import HELD, Case
from tests.faults.jobs.checks import check_succeeded, record_covered
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import is_waiting
from tests.faults.jobs.programs import until
from tests.faults.jobs.sites import deploy, new_site, require_success
from tests.faults.jobs.trials import (
    Trial,
    Trials,
    blocked_ports,
    conclude,
    halves,
    holding,
    release,
    run_in_batches,
)

pytestmark = pytest.mark.faults


@pytest.fixture(scope="module")
async def workers_killed(harness: Harness) -> Trials:
    """Both workers are killed, so that the one that executed a step is. Half of the steps end while there is
    no worker, half when another worker executes them."""
    temporal = await harness.temporal()

    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        async with holding(harness, cases) as trials:
            for trial in trials:
                trial.note = await until(_executor, "a worker executes it", harness, temporal, trial)
            killed = [worker.pid for worker in harness.workers]
            await harness.kill_workers()
            early, late = halves(trials)
            await release(harness, *early)
            harness.start_workers()
            for trial in late:
                await until(_is_executed_again, f"{trial.case} is executed again", harness, trial)
                await release(harness, trial)
            for trial in trials:
                trial.note = trial.note in killed
            await conclude(harness, trials)
        return trials

    return await run_in_batches(HELD, run)


async def _executor(harness: Harness, temporal: Any, trial: Trial) -> int | None:
    """The process that executes the step now."""
    if trial.blocker is not None:
        ports = (await blocked_ports(harness)).get(trial.blocker.get_server_pid(), set())
        for worker in harness.workers:
            if ports & {it.laddr.port for it in psutil.Process(worker.pid).net_connections("tcp")}:
                return worker.pid
        return None
    description = await temporal.get_workflow_handle(trial.job).describe()
    (pending,) = description.raw_description.pending_activities
    return int(pending.last_worker_identity.partition("@")[0] or 0) or None


async def _is_executed_again(harness: Harness, trial: Trial) -> bool:
    if trial.blocker is not None:
        return await _executor(harness, None, trial) is not None
    return harness.node.steps(trial.job)[trial.case.step.name].epoch > 1


@pytest.fixture(scope="module")
async def node_killed(harness: Harness) -> Trials:
    async def run(cases: Sequence[Case]) -> Sequence[Trial]:
        async with holding(harness, cases) as trials:
            await harness.node.kill()
            early, late = halves([trial for trial in trials if trial.blocker is not None])
            await release(harness, *early)
            harness.node.start()
            await release(harness, *late)
            await conclude(harness, trials)
            for trial in trials:
                trial.note = is_waiting(trial.pid)
        return trials

    return await run_in_batches(HELD, run)


async def test_a_node_does_not_count_as_down_because_no_worker_ran(harness: Harness) -> None:
    await harness.node.set_step_seconds(0)
    site = await new_site(harness)
    queue = await harness.lock_queue()
    job = await deploy(harness, site)
    await harness.kill_workers()
    queue.terminate()
    await harness.sql("update jobs set dispatched_at = now() - interval '1 minute' where id = $1", job)
    await harness.sql("update nodes set last_seen_at = now() - interval '1 minute'")
    harness.start_workers()
    await require_success(harness, job)


async def test_a_step_goes_on_while_its_worker_is_replaced(harness: Harness) -> None:
    case = next(case for case in HELD if case.is_on_node and not case.done)
    async with holding(harness, [case]) as (trial,):
        for worker in harness.workers:
            await worker.stop()
        harness.start_workers()
        await until(_is_executed_again, "another worker waits for the step", harness, trial)
        assert is_waiting(trial.pid), "the process of the step goes on"
        await release(harness, trial)
        await conclude(harness, [trial])
    check_succeeded(case, trial.result)


@pytest.mark.parametrize("case", HELD, ids=str)
def test_a_job_whose_worker_is_killed_in_a_step_is_finished_by_another_worker(
    case: Case, workers_killed: Trials
) -> None:
    trial = workers_killed[case]
    check_succeeded(case, trial.result)
    assert trial.note, "the process that executed the step was killed"
    record_covered("worker killed", case)


@pytest.mark.parametrize("case", HELD, ids=str)
def test_a_job_whose_node_is_killed_in_a_step_is_finished_when_the_node_is_back(
    case: Case, node_killed: Trials
) -> None:
    trial = node_killed[case]
    check_succeeded(case, trial.result, times=2)
    assert not trial.note, "the processes of the killed node are gone"
    record_covered("node killed", case)
