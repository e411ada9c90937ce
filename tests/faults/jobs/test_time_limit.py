"""A job whose time is up ends, undone; and what a worker does not know does not keep it from its work."""

from collections.abc import AsyncIterator

import pytest

from tests.faults.jobs import checks
from tests.faults.jobs.cases import CASES, Case, Outcome, blocked, observe, queue_held
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.node import PACE, is_sleep
from tests.faults.jobs.programs import until
from tests.faults.jobs.scenarios import Site, delete, deploy, new_site, running_site

pytestmark = pytest.mark.faults

KIND = "deployment.deploy/limited"
"""Known only to `limited_worker`; its time is up after three seconds."""
STEPS = [case for case in CASES if case.kind.name == "deployment.deploy"]
TOO_LONG = "The job took longer than its limit of 3 seconds."


@pytest.fixture(scope="module")
async def limited(harness: Harness) -> AsyncIterator[None]:
    """All work is done by a worker that knows the kind."""
    for worker in harness.workers:
        await worker.stop()
    harness.limited.start()
    yield
    await harness.limited.stop()
    for worker in harness.workers:
        worker.start()


async def _deploy_limited(harness: Harness, site: Site) -> str:
    """A deployment like any other, until somebody looks how long it may take."""
    job = await deploy(harness, site)
    await harness.sql(
        "update jobs set params = params || jsonb_build_object('kind', $2::text) where id = $1", job, KIND
    )
    return job


@pytest.mark.parametrize("case", [case for case in STEPS if case.on_node], ids=str)
async def test_a_job_whose_time_is_up_in_a_step_on_a_node_is_undone(
    case: Case, harness: Harness, limited: None
) -> None:
    await harness.node.restart(0.4)
    site = await new_site(harness)
    queue = await queue_held(harness)
    job = await _deploy_limited(harness, site)
    queue.terminate()
    await harness.node.freeze({(job, case.step.name)})
    pid = harness.node.frozen.pop((job, case.step.name))
    await harness.ended(job)
    assert not is_sleep(pid)
    _ended_well(case, await observe(harness, job))
    await _makes_way(harness, site)
    checks.tried("time is up", case)


@pytest.mark.parametrize("case", [case for case in STEPS if not case.on_node], ids=str)
async def test_a_job_whose_time_is_up_in_a_transaction_is_undone_or_done(
    case: Case, harness: Harness, limited: None
) -> None:
    """Time cannot be up between a transaction and its end: the last one ends the job with it."""
    await harness.node.restart()
    site = await new_site(harness)
    queue = await queue_held(harness)
    job = await _deploy_limited(harness, site)
    hold = await harness.connect()
    await hold.execute("begin")
    await hold.execute("insert into job_steps values ($1, $2)", job, case.step.name)
    queue.terminate()

    async def too_late() -> bool:
        (row,) = await harness.sql("select now() - dispatched_at > interval '4 s' from jobs where id = $1", job)
        return bool(row[0])

    await until(too_late, "its time is up")
    hold.terminate()
    await harness.ended(job)
    seen = await observe(harness, job)
    if seen.status == "succeeded":
        assert case.step is STEPS[-1].step
        checks.succeeded(case, seen)
    else:
        _ended_well(case, seen)
    await _makes_way(harness, site)
    checks.tried("time is up", case)


def _ended_well(case: Case, seen: Outcome) -> None:
    checks.failed(case, seen, "job.timeout", TOO_LONG)
    checks.left(seen, case.scenario.failed, reason=TOO_LONG)


async def _makes_way(harness: Harness, site: Site) -> None:
    following = await delete(harness, site)
    await harness.ended(following)
    assert (await observe(harness, following)).status == "succeeded"


async def test_a_worker_leaves_a_job_it_does_not_know_to_one_that_does(harness: Harness) -> None:
    """Two versions work side by side while an installation is brought to a new one."""
    await harness.node.restart()
    site = await new_site(harness)
    queue = await queue_held(harness)
    job = await _deploy_limited(harness, site)
    await harness.sql("update jobs set dispatched_at = now() - interval '1 minute' where id = $1", job)
    queue.terminate()
    for _ in range(3):
        await running_site(harness)
    harness.limited.start()
    try:
        await harness.ended(job)
        assert (await observe(harness, job)).status == "succeeded"
    finally:
        await harness.limited.stop()
