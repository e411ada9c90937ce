"""The object store is down or hangs when a node needs it: the deployment waits for it, or is cancelled."""

from collections.abc import AsyncIterator
from dataclasses import replace

import pytest

from stead.control.deployments.workflows import DEPLOY
from stead.control.jobs.rules import JobCancelled
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.node.drivers.layout import downloads
from tests.control.deployments.fault_scenarios import deploy_artifact, deployed_site
from tests.faults.jobs.cases import cases_of
from tests.faults.jobs.checks import check_failed, check_site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.job_watcher import FINAL
from tests.faults.jobs.long_steps import object_store_stopped
from tests.faults.jobs.outcomes import observe
from tests.faults.jobs.programs import until
from tests.faults.jobs.sites import require_success
from tests.faults.jobs.trials import cancel

pytestmark = pytest.mark.faults

ATTEMPTS = 5
"""More than a node makes after other errors. With the pauses between them they take about eight seconds."""


@pytest.fixture
async def live(harness: Harness) -> AsyncIterator[Harness]:
    await harness.node.set_step_seconds(0)
    harness.speak_as("live")
    yield harness
    harness.speak_as("test")


async def test_a_deployment_is_finished_when_the_object_store_is_down_and_started_again(
    live: Harness,
) -> None:
    site = await deployed_site(live)
    before = live.node.program.count_log_events("transfer.waiting")
    await live.stack.kill(SeaweedFS)
    try:
        job = await deploy_artifact(live, site)

        async def has_tried_often() -> bool:
            tried = live.node.program.count_log_events("transfer.waiting") - before
            ended = await live.sql("select from jobs where id = $1 and status = any($2)", job, FINAL)
            return tried >= ATTEMPTS or bool(ended)

        await until(has_tried_often, "the node has tried to fetch the release, or the job has ended")
    finally:
        await live.stack.start(SeaweedFS)
    await live.ended(job)
    outcome = await observe(live, job)
    assert (outcome.status, outcome.error, outcome.shows) == ("succeeded", None, 2)
    assert outcome.node_steps["fetch"].carried_out == 1


async def test_a_deployment_that_is_cancelled_while_the_object_store_hangs_leaves_nothing(
    live: Harness,
) -> None:
    site = await deployed_site(live)
    async with object_store_stopped(live):
        job = await deploy_artifact(live, site)

        async def is_fetching() -> bool:
            return "fetch" in live.node.steps(job)

        await until(is_fetching, "the node fetches the release")
        await cancel(live, job)
        await live.ended(job)
    outcome = await observe(live, job)
    case = next(case for case in cases_of(DEPLOY) if case.step.name == "fetch")
    check_failed(replace(case, live=True), outcome, JobCancelled.code, JobCancelled.message)
    check_site(outcome, case.scenario.failed_in("fetch"))
    assert list(downloads(live.node.data).iterdir()) == []
    await require_success(live, await deploy_artifact(live, site))
