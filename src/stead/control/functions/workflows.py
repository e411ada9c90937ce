"""The jobs of functions: start a version on its node, then switch all visitors in one step."""

from stead.control.deployments import service as deployments
from stead.control.deployments.rules import EnvironmentNotReady
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import EnvironmentLocked
from stead.control.functions import jobs, service
from stead.control.functions.events import FUNCTION_DEPLOYED, FUNCTION_ROLLED_BACK
from stead.control.functions.jobs import FunctionDeployment, FunctionRemoval
from stead.control.functions.rules import FunctionNotFound, route_of
from stead.control.jobs.definition import (
    Announcement,
    NodeCommand,
    Refused,
    Results,
    Step,
    Workflow,
    control_step,
    node_step,
    record_nothing,
)
from stead.control.jobs.kinds import Job
from stead.control.outbox.event_types import EventType
from stead.control.sites import node_commands
from stead.protocol.work.functions import RemoveFunction

DeploymentJob = Job[FunctionDeployment]
RemovalJob = Job[FunctionRemoval]


async def _begin(tx: Tx, job: DeploymentJob) -> None:
    function = await service.get(tx, job.params.function)
    if function.is_deleted:
        raise Refused(FunctionNotFound.code, "The function was deleted.")
    await service.get_version(tx, function.id, job.params.version)
    production = await environments.get_production(tx, function.site_id)
    target = await deployments.get_target(tx, production.id)
    if not target.is_ready:
        refusal = EnvironmentNotReady(status=target.status_for_message)
        raise Refused(refusal.code, str(refusal))
    try:
        await environments.require_unlocked(tx, production.id)
    except EnvironmentLocked as refusal:
        raise Refused(refusal.code, str(refusal)) from None
    await service.set_state(tx, function.id, "deploying")


async def _prepare(tx: Tx, job: DeploymentJob) -> NodeCommand | None:
    """A version that is active stays so: the node would discard it if it could not be started."""
    function = await service.get(tx, job.params.function)
    is_active = job.params.version == function.active_version_id
    return await _build_command(tx, job, job.params.version, active=is_active)


async def _activate(tx: Tx, job: DeploymentJob) -> NodeCommand | None:
    return await _build_command(tx, job, job.params.version, active=True)


async def _activate_previous(tx: Tx, job: DeploymentJob) -> NodeCommand | None:
    """Without one, no version is active: other functions must not call what no visitor sees."""
    function = await service.get(tx, job.params.function)
    if function.active_version_id is None:
        return await _build_command(tx, job, job.params.version, active=False)
    return await _build_command(tx, job, function.active_version_id, active=True)


async def _build_command(tx: Tx, job: DeploymentJob, version_id: str, *, active: bool) -> NodeCommand:
    function = await service.get(tx, job.params.function)
    version = await service.get_version(tx, function.id, version_id)
    production = await environments.get_production(tx, function.site_id)
    work = await service.build_work(tx, function, version, active=active)
    return node_commands.build_command(production.node_id, production.id, function.mode, work)


async def _switch(tx: Tx, job: DeploymentJob) -> Announcement | None:
    return await _serve(tx, job.params.function, job.params.version)


async def _switch_back(tx: Tx, job: DeploymentJob) -> Announcement | None:
    """Until the job finishes, the active version is the one from before it."""
    function = await service.get(tx, job.params.function)
    return await _serve(tx, function.id, function.active_version_id)


async def _serve(tx: Tx, function_id: str, version: str | None) -> Announcement | None:
    function = await service.get(tx, function_id)
    await service.set_served(tx, function.id, version)
    production = await environments.get_production(tx, function.site_id)
    return await announcements.serve_environment(tx, production.id)


async def _finish(tx: Tx, job: DeploymentJob) -> Results:
    return await _finish_with(tx, job, FUNCTION_DEPLOYED)


async def _finish_rollback(tx: Tx, job: DeploymentJob) -> Results:
    return await _finish_with(tx, job, FUNCTION_ROLLED_BACK)


async def _finish_with(tx: Tx, job: DeploymentJob, event: EventType) -> Results:
    function = await service.get(tx, job.params.function)
    version = await service.get_version(tx, function.id, job.params.version)
    await service.set_active(tx, function.id, version.id)
    facts = {"version_id": version.id, "artifact_id": version.artifact_id}
    await service.publish_event(tx, function, event, job=job.id, **facts)
    production = await environments.get_production(tx, function.site_id)
    path = route_of(function.slug, function.route_path) or "/"
    return {
        "artifact_id": version.artifact_id,
        "digest": version.digest,
        "env_id": production.id,
        "url": f"https://{function.domain}{path}",
    }


async def _failed(tx: Tx, job: DeploymentJob, reason: str) -> None:
    """The undo has switched back to the version before."""
    await service.record_failure(tx, job.params.function, job.id, reason)
    await service.forget_old_versions(tx, job.params.function)


async def _withdraw(tx: Tx, job: RemovalJob) -> Announcement | None:
    function = await service.get(tx, job.params.function)
    production = await environments.get_production(tx, function.site_id)
    return await announcements.serve_environment(tx, production.id)


async def _remove(tx: Tx, job: RemovalJob) -> NodeCommand | None:
    function = await service.get(tx, job.params.function)
    production = await environments.get_production(tx, function.site_id)
    return await node_commands.build_command_if_placed(tx, production, RemoveFunction(function=function.id))


async def _forget(tx: Tx, job: RemovalJob) -> None:
    await service.remove(tx, job.params.function)


_PREPARATION = (
    control_step("begin", _begin),
    node_step("prepare", _prepare),
    # The node first: other functions call the version that it serves.
    Step(
        "switch",
        command=_activate,
        announce=_switch,
        undo_command=_activate_previous,
        undo_announce=_switch_back,
    ),
)

DEPLOY = Workflow(jobs.DEPLOY, steps=[*_PREPARATION, control_step("done", _finish)], failed=_failed)
ROLLBACK = Workflow(
    jobs.ROLLBACK, steps=[*_PREPARATION, control_step("done", _finish_rollback)], failed=_failed
)
REMOVE = Workflow(
    jobs.REMOVE,
    steps=[Step("remove", command=_remove, announce=_withdraw), control_step("done", _forget)],
    failed=record_nothing,
)
