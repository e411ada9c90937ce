"""Destroying an environment, and removing what a deleted site left of one."""

from stead.control.backups import scheduling as backups
from stead.control.certificates import service as certificates
from stead.control.deployments import service as deployments
from stead.control.domains import service as domains
from stead.control.engines.postgres import Tx
from stead.control.environments import captured_mail, jobs
from stead.control.environments import service as environments
from stead.control.environments.events import ENV_DESTROYED
from stead.control.environments.workflows import releases, steps
from stead.control.environments.workflows.steps import EnvironmentJob
from stead.control.jobs.definition import NodeCommand, Results, Step, Workflow, control_step, node_step
from stead.control.sites import node_commands


async def _restore_environment(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    work = await releases.build_environment_work(tx, job)
    return await node_commands.build_command_if_placed(tx, await steps.get_environment(tx, job), work)


async def _restore_simulated_route(tx: Tx, job: EnvironmentJob) -> NodeCommand | None:
    """An environment whose creation failed had no route."""
    return await steps.simulate_route(tx, job) if job.params.status_before != "failed" else None


async def _finish(tx: Tx, job: EnvironmentJob) -> Results:
    environment = await steps.change_status(tx, job, "deleted", after=("deleting",))
    await steps.remove_placement(tx, job)
    await deployments.reset_to_placeholder(tx, environment.id)
    await certificates.remove_certificate(tx, environment.subdomain)
    await domains.release_environment(tx, environment.id)
    await captured_mail.forget(tx, environment.id)
    await backups.expire_environment(tx, job.site_id, environment.id)
    await environments.publish_event(tx, environment, ENV_DESTROYED, job.id, reason=job.params.why)
    return {"env_id": environment.id}


async def _purge_failed(_tx: Tx, _job: EnvironmentJob, _reason: str) -> None:
    """Nothing to record: the environment is still placed, so another purge is queued."""


DESTROY = Workflow(
    jobs.DESTROY,
    steps=[
        Step(
            "route",
            command=steps.simulate_route_removal,
            announce=steps.withdraw,
            undo_command=_restore_simulated_route,
            undo_announce=steps.serve_as_before,
        ),
        node_step("environment", steps.remove_environment, undo=_restore_environment),
        control_step("close", _finish),
    ],
    failed=steps.restore_after_failure("destroy"),
)

PURGE = Workflow(
    jobs.PURGE,
    steps=[
        Step("route", command=steps.simulate_route_removal),
        node_step("environment", steps.remove_environment),
        control_step("displace", steps.remove_placement),
    ],
    failed=_purge_failed,
)
