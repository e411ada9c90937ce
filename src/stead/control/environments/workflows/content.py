"""Changing the content of an environment: refresh from production, reset, push to production."""

from stead.control.engines.postgres import Tx
from stead.control.environments import jobs
from stead.control.environments import service as environments
from stead.control.environments.events import ENV_PUSHED, ENV_REFRESHED, ENV_RESET
from stead.control.environments.workflows import releases, steps
from stead.control.environments.workflows.restorability import verify_production
from stead.control.environments.workflows.steps import EnvironmentJob
from stead.control.jobs.definition import (
    Results,
    Workflow,
    announce_step,
    control_step,
    long_step,
    node_step,
)
from stead.control.sites import service as sites


async def _finish_refresh(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await steps.get_environment(tx, job)
    deployment = await releases.finish_deployment(tx, job)
    await environments.publish_event(tx, environment, ENV_REFRESHED, job.id)
    return steps.build_results(environment, deployment)


async def _finish_reset(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await steps.get_environment(tx, job)
    await releases.finish_deployment(tx, job)
    await environments.publish_event(tx, environment, ENV_RESET, job.id)
    return steps.build_results(environment)


async def _finish_push(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await steps.get_environment(tx, job)
    facts = await sites.get_facts(tx, job.site_id)
    deployment = await releases.finish_deployment(tx, job)
    await environments.publish_event(tx, environment, ENV_PUSHED, job.id)
    return {**steps.build_results(environment, deployment), "url": f"http://{facts.domain}/"}


REFRESH = Workflow(
    jobs.REFRESH,
    steps=[
        control_step("content", releases.start_refresh),
        node_step("fetch", releases.fetch_release),
        node_step("probe", releases.probe_release),
        announce_step("switch", releases.switch_release, undo=releases.restore_release),
        control_step("done", _finish_refresh),
    ],
    failed=releases.keep_release_after_failure("refresh"),
)

RESET = Workflow(
    jobs.RESET,
    steps=[
        control_step("content", releases.start_reset),
        announce_step("switch", releases.switch_release, undo=releases.restore_release),
        node_step("probe", steps.probe),
        control_step("done", _finish_reset),
    ],
    failed=releases.keep_release_after_failure("reset"),
)

PUSH = Workflow(
    jobs.PUSH,
    steps=[
        control_step("content", releases.start_push),
        long_step("copy", verify_production),
        node_step("fetch", releases.fetch_release),
        node_step("probe", releases.probe_release),
        announce_step("switch", releases.switch_release, undo=releases.restore_release),
        control_step("done", _finish_push),
    ],
    failed=releases.keep_release_after_failure("push"),
)
