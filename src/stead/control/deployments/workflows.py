"""The jobs that put an artifact before visitors: fetched, tried, then shown in one step."""

from datetime import timedelta

from stead.control.deployments import service
from stead.control.deployments.jobs import DeploymentWork
from stead.control.deployments.rules import EnvironmentNotReady, SourceChanged
from stead.control.edge_feed import announcements as routing
from stead.control.engines.postgres import Tx
from stead.control.jobs.declaration import (
    Announcement,
    Errand,
    Job,
    JobKind,
    Refused,
    Results,
    ask,
    control,
    tell,
)
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


async def _fetch(tx: Tx, job: DeploymentJob) -> Errand | None:
    deployment = await service.get(tx, job.params.deployment)
    return await service.release_errand(tx, deployment.site_id, deployment.env_id, deployment.artifact_id)


async def _probe(tx: Tx, job: DeploymentJob) -> Errand | None:
    """Asked as if it were shown already, before any visitor sees it."""
    deployment = await service.get(tx, job.params.deployment)
    place = await service.place(tx, deployment.env_id)
    return service.errand(place, Probe(place.subdomain, release=release_of(deployment.digest)))


async def _switch(tx: Tx, job: DeploymentJob) -> Announcement | None:
    deployment = await service.get(tx, job.params.deployment)
    await service.switch(tx, deployment)
    return await routing.serve(tx, deployment.env_id)


async def _switch_back(tx: Tx, job: DeploymentJob) -> Announcement | None:
    deployment = await service.get(tx, job.params.deployment)
    await service.switch_back(tx, deployment)
    return await routing.serve(tx, deployment.env_id)


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


def _deploying(type_: str) -> JobKind[DeploymentWork]:
    """They differ in what the request said; the work is the same."""
    return JobKind(
        type_,
        params=DeploymentWork,
        resource="deployment",
        lock="environment",
        limit=timedelta(minutes=10),
        results={"deployment_id", "release_id", "artifact_id", "digest", "env_id", "url"},
        steps=[
            control("begin", _begin),
            ask("fetch", _fetch),
            ask("probe", _probe),
            tell("switch", _switch, undo=_switch_back),
            control("done", _done),
        ],
        failed=_failed,
    )


DEPLOY = _deploying("deployment.deploy_artifact")
PROMOTE = _deploying("deployment.promote")
ROLLBACK = _deploying("deployment.rollback")
