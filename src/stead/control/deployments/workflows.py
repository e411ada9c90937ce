"""The jobs that put an artifact before visitors: fetched, tried, then shown in one step."""

from stead.control.deployments import jobs, service
from stead.control.deployments.jobs import DeploymentWork
from stead.control.deployments.rules import EnvironmentNotReady, SourceChanged
from stead.control.edge_feed import announcements
from stead.control.engines.postgres import Tx
from stead.control.jobs.definition import (
    Announcement,
    NodeCommand,
    Refused,
    Results,
    Workflow,
    announce_step,
    control_step,
    node_step,
)
from stead.control.jobs.kinds import Job
from stead.protocol.work import Probe, release_of

DeploymentJob = Job[DeploymentWork]


async def _begin(tx: Tx, job: DeploymentJob) -> None:
    deployment = await service.get(tx, job.params.deployment)
    place = await service.place(tx, deployment.env_id)
    if not place.is_ready:
        raise Refused(EnvironmentNotReady.code, str(EnvironmentNotReady(status=place.state)))
    if deployment.kind == "promote":
        source = await service.get(tx, deployment.from_id or "")
        if source.status != "live" or source.digest != deployment.digest:
            raise Refused(SourceChanged.code, SourceChanged.message)
    if not await service.become(tx, deployment.id, "deploying"):
        raise Refused(EnvironmentNotReady.code, "The deployment is not waiting any more.")


async def _fetch(tx: Tx, job: DeploymentJob) -> NodeCommand | None:
    deployment = await service.get(tx, job.params.deployment)
    return await service.release_command(tx, deployment.site_id, deployment.env_id, deployment.artifact_id)


async def _probe(tx: Tx, job: DeploymentJob) -> NodeCommand | None:
    """Asked as if it were shown already, before any visitor sees it."""
    deployment = await service.get(tx, job.params.deployment)
    place = await service.place(tx, deployment.env_id)
    return service.node_command(place, Probe(place.subdomain, release=release_of(deployment.digest)))


async def _switch(tx: Tx, job: DeploymentJob) -> Announcement | None:
    deployment = await service.get(tx, job.params.deployment)
    await service.switch(tx, deployment)
    return await announcements.serve_environment(tx, deployment.env_id)


async def _switch_back(tx: Tx, job: DeploymentJob) -> Announcement | None:
    deployment = await service.get(tx, job.params.deployment)
    await service.switch_back(tx, deployment)
    return await announcements.serve_environment(tx, deployment.env_id)


async def _done(tx: Tx, job: DeploymentJob) -> Results:
    deployment = await service.get(tx, job.params.deployment)
    place = await service.place(tx, deployment.env_id)
    await service.go_live(tx, deployment)
    return {
        "deployment_id": deployment.id,
        "release_id": deployment.id,
        "artifact_id": deployment.artifact_id,
        "digest": deployment.digest,
        "env_id": deployment.env_id,
        "url": f"http://{place.host}/",
    }


async def _failed(tx: Tx, job: DeploymentJob, reason: str) -> None:
    """What was served before is still served."""
    await service.become(tx, job.params.deployment, "failed", reason=reason)


_STEPS = (
    control_step("begin", _begin),
    node_step("fetch", _fetch),
    node_step("probe", _probe),
    announce_step("switch", _switch, undo=_switch_back),
    control_step("done", _done),
)

DEPLOY = Workflow(jobs.DEPLOY, steps=_STEPS, failed=_failed)
PROMOTE = Workflow(jobs.PROMOTE, steps=_STEPS, failed=_failed)
ROLLBACK = Workflow(jobs.ROLLBACK, steps=_STEPS, failed=_failed)
