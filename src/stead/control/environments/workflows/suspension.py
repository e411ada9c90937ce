"""Suspending and resuming an environment. A suspended one keeps its files and has no processes; the edges
answer for it."""

from stead.control.engines.postgres import Tx
from stead.control.environments import jobs
from stead.control.environments import service as environments
from stead.control.environments.events import ENV_RESUMED, ENV_SUSPENDED
from stead.control.environments.workflows import releases, steps
from stead.control.environments.workflows.steps import EnvironmentJob
from stead.control.jobs.definition import (
    NodeCommand,
    Results,
    Workflow,
    announce_step,
    control_step,
    node_step,
)
from stead.control.sites import node_commands


async def _ensure_environment(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    work = await releases.build_environment_work(tx, job)
    return await node_commands.build_environment_command(tx, await steps.get_environment(tx, job), work)


async def _suspend_environment(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    return await node_commands.suspend(tx, await steps.get_environment(tx, job), job)


async def _resume_environment(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    environment = await steps.get_environment(tx, job)
    if not await node_commands.has_reachable_processes(tx, environment, job):
        return None
    return await _ensure_environment(tx, job)


async def _finish_suspension(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await steps.change_status(tx, job, "suspended", after=("suspending",))
    await environments.publish_event(tx, environment, ENV_SUSPENDED, job.id, reason=job.params.why)
    return {"env_id": environment.id}


async def _finish_resumption(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await steps.mark_running(tx, job)
    await environments.publish_event(tx, environment, ENV_RESUMED, job.id)
    return steps.build_results(environment)


SUSPEND = Workflow(
    jobs.SUSPEND,
    steps=[
        announce_step("route", steps.serve, undo=steps.serve_as_before),
        node_step("processes", _suspend_environment, undo=_resume_environment),
        control_step("pause", _finish_suspension),
    ],
    failed=steps.restore_after_failure("suspend"),
)

RESUME = Workflow(
    jobs.RESUME,
    steps=[
        node_step("environment", _ensure_environment),
        announce_step("route", steps.serve, undo=steps.serve_as_before),
        node_step("probe", steps.probe),
        control_step("open", _finish_resumption),
    ],
    failed=steps.restore_after_failure("resume"),
)
