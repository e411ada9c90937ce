"""The jobs that deploy an artifact: fetch it, probe it, then switch all visitors in one step."""

from stead.control.deployments import jobs, service
from stead.control.deployments.jobs import DeploymentWork
from stead.control.deployments.rules import EnvironmentNotReady, SourceChanged
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.environments import service as environments
from stead.control.environments.rules import EnvironmentLocked
from stead.control.jobs.definition import (
    Announcement,
    NodeCommand,
    Refused,
    Results,
    Step,
    Workflow,
    control_step,
    node_step,
)
from stead.control.jobs.kinds import Job
from stead.control.sites import node_commands
from stead.protocol.work.hosting import Probe
from stead.protocol.work.releases import release_of

DeploymentJob = Job[DeploymentWork]


async def _begin(tx: Tx, job: DeploymentJob) -> None:
    deployment = await service.get(tx, job.params.deployment)
    target = await service.get_target(tx, deployment.env_id)
    if not target.is_ready:
        refusal = EnvironmentNotReady(status=target.status_for_message)
        raise Refused(refusal.code, str(refusal))
    try:
        await environments.require_unlocked(tx, deployment.env_id)
    except EnvironmentLocked as refusal:
        raise Refused(refusal.code, str(refusal)) from None
    if deployment.kind == "promote":
        source = await service.get(tx, deployment.from_id or "")
        if source.status != "live" or source.digest != deployment.digest:
            raise Refused(SourceChanged.code, SourceChanged.message)
    if not await service.set_status(tx, deployment.id, "deploying"):
        raise Refused(EnvironmentNotReady.code, "The deployment is not pending any more.")


async def _fetch(tx: Tx, job: DeploymentJob) -> NodeCommand | None:
    deployment = await service.get(tx, job.params.deployment)
    return await service.build_release_command(
        tx, deployment.site_id, deployment.env_id, deployment.artifact_id
    )


async def _probe(tx: Tx, job: DeploymentJob) -> NodeCommand | None:
    """Probe the release before any visitor sees it."""
    deployment = await service.get(tx, job.params.deployment)
    target = await service.get_target(tx, deployment.env_id)
    work = Probe(
        target.subdomain,
        release=release_of(deployment.digest),
        runtime="cms" if target.runtime == "cms" else "",
    )
    return node_commands.build_command(target.node_id, target.env_id, target.mode, work)


async def _serve_release(tx: Tx, job: DeploymentJob) -> NodeCommand | None:
    deployment = await service.get(tx, job.params.deployment)
    return await service.build_serve_command(tx, deployment.env_id, deployment.artifact_id)


async def _serve_previous(tx: Tx, job: DeploymentJob) -> NodeCommand | None:
    """Until the job finishes, the live deployment is the one from before it."""
    deployment = await service.get(tx, job.params.deployment)
    live = await service.find_live(tx, deployment.env_id)
    return await service.build_serve_command(tx, deployment.env_id, live.artifact_id if live else None)


async def _switch(tx: Tx, job: DeploymentJob) -> Announcement | None:
    deployment = await service.get(tx, job.params.deployment)
    await service.switch_release(tx, deployment)
    return await announcements.serve_environment(tx, deployment.env_id)


async def _switch_back(tx: Tx, job: DeploymentJob) -> Announcement | None:
    deployment = await service.get(tx, job.params.deployment)
    await service.switch_back(tx, deployment)
    return await announcements.serve_environment(tx, deployment.env_id)


async def _finish(tx: Tx, job: DeploymentJob) -> Results:
    deployment = await service.get(tx, job.params.deployment)
    target = await service.get_target(tx, deployment.env_id)
    await service.mark_live(tx, deployment)
    return {
        "deployment_id": deployment.id,
        "release_id": deployment.id,
        "artifact_id": deployment.artifact_id,
        "digest": deployment.digest,
        "env_id": deployment.env_id,
        "url": f"{target.origin}/",
    }


async def _failed(tx: Tx, job: DeploymentJob, reason: str) -> None:
    """The undo has switched back to the release before."""
    await service.set_status(tx, job.params.deployment, "failed", reason=reason)


_STEPS = (
    control_step("begin", _begin),
    node_step("fetch", _fetch),
    node_step("probe", _probe),
    # The node first: cached pages are found by the release that the edge knows.
    Step(
        "switch",
        command=_serve_release,
        announce=_switch,
        undo_command=_serve_previous,
        undo_announce=_switch_back,
    ),
    control_step("done", _finish),
)

DEPLOY = Workflow(jobs.DEPLOY, steps=_STEPS, failed=_failed)
PROMOTE = Workflow(jobs.PROMOTE, steps=_STEPS, failed=_failed)
ROLLBACK = Workflow(jobs.ROLLBACK, steps=_STEPS, failed=_failed)
