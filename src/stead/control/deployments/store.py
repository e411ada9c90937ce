"""Queries of deployments."""

from collections.abc import Sequence
from datetime import datetime

from stead.control.artifacts.rules import Artifact
from stead.control.deployments.rules import (
    Deployment,
    DeploymentKind,
    DeploymentStatus,
    DeploymentTarget,
    PermanentHost,
    VisibleDeployment,
    name_permanent_host,
    previous_statuses,
)
from stead.control.deployments.schema import DeploymentView, ReleaseView
from stead.control.engines.postgres import Tx
from stead.control.environments.rules import VisibleEnvironment
from stead.control.http.pagination import Page, PageRequest
from stead.shared.ids import DeploymentId, new_id

_COLUMNS = (
    "id, site_id, env_id, artifact_id, digest, ref, commit, kind, from_id, status, switched, release_before,"
    " deployed_at"
)
_VIEW = (
    "id, env_id, artifact_id, digest, ref, commit, kind, from_id, status, reason, job_id, created_at,"
    " deployed_at, current_since,"
    " case when deployed_at is not null and not permanent_ended"
    " then 'https://' || permanent_host || '/' end"
)
_RELEASE = "id, artifact_id, digest, ref, status, status = 'live', deployed_at, created_at"
_TARGET = """
  select e.id, s.id, s.account_id, s.team_id, s.mode, s.runtime, s.domain, e.type, e.subdomain, e.status,
    s.status, e.node_id, e.release, s.slug
  from environments e join sites s on s.id = e.site_id where e.id = $1
"""


async def find_target(tx: Tx, env: str) -> DeploymentTarget | None:
    return await tx.one(DeploymentTarget, _TARGET, env)


async def get(tx: Tx, deployment: str) -> Deployment | None:
    return await tx.one(
        Deployment,
        f"select {_COLUMNS} from deployments where id = $1",  # noqa: S608
        deployment,
    )


async def find_by_job(tx: Tx, job: str) -> Deployment | None:
    return await tx.one(
        Deployment,
        f"select {_COLUMNS} from deployments where job_id = $1",  # noqa: S608
        job,
    )


async def find(tx: Tx, env: VisibleEnvironment, deployment: str) -> VisibleDeployment | None:
    return await tx.one(
        VisibleDeployment,
        "select id, artifact_id, deployed_at from deployments where env_id = $1 and id = $2",
        env.id,
        deployment,
    )


async def find_live(tx: Tx, env: str) -> Deployment | None:
    return await tx.one(
        Deployment,
        f"select {_COLUMNS} from deployments where env_id = $1 and status = 'live'",  # noqa: S608
        env,
    )


async def page(tx: Tx, env: str, request: PageRequest) -> Page[DeploymentView]:
    return await request.fetch(
        tx,
        DeploymentView,
        f"select {_VIEW} from deployments where env_id = $1 and id < $2 order by id desc limit $3",  # noqa: S608
        env,
    )


async def page_releases(tx: Tx, env: str, request: PageRequest) -> Page[ReleaseView]:
    return await request.fetch(
        tx,
        ReleaseView,
        f"select {_RELEASE} from deployments where env_id = $1 and deployed_at is not null and id < $2"  # noqa: S608
        " order by id desc limit $3",
        env,
    )


async def insert(
    tx: Tx,
    target: DeploymentTarget,
    artifact: Artifact,
    kind: DeploymentKind,
    *,
    from_id: str | None = None,
    job: str | None = None,
    live_since: datetime | None = None,
) -> DeploymentId:
    """A deployment is pending at first. With `live_since` it is live immediately: its release is served
    already."""
    id_ = DeploymentId(new_id("dep"))
    host = name_permanent_host(id_, target.slug, target.subdomain) if target.runtime == "static" else None
    await tx.run(
        "insert into deployments (id, site_id, env_id, artifact_id, digest, ref, commit, kind, from_id,"
        " job_id, created_at, status, deployed_at, current_since, permanent_host)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $13, $14)",
        *(id_, target.site_id, target.env_id, artifact.id, artifact.digest, artifact.ref, artifact.commit),
        *(kind, from_id, job, tx.now, "live" if live_since else "pending", live_since, host),
    )
    return id_


async def set_job(tx: Tx, deployment: str, job: str) -> None:
    await tx.run("update deployments set job_id = $2 where id = $1", deployment, job)


async def set_status(tx: Tx, deployment: str, status: DeploymentStatus, *, reason: str | None = None) -> bool:
    """Change the status if the current one allows it. Returns whether it did."""
    changed = await tx.run(
        "update deployments set status = $2, reason = $3,"
        " deployed_at = case when $2 = 'live' then $4 else deployed_at end,"
        " current_since = case when $2 = 'live' then $4 end"
        " where id = $1 and status = any($5)",
        deployment,
        status,
        reason,
        tx.now,
        previous_statuses(status),
    )
    return changed == 1


async def set_switched(tx: Tx, deployment: str, *, switched: bool, before: str | None) -> None:
    await tx.run(
        "update deployments set switched = $2, release_before = $3 where id = $1",
        deployment,
        switched,
        before,
    )


async def get_job_id(tx: Tx, deployment: str) -> str | None:
    job: str | None = await tx.value("select job_id from deployments where id = $1", deployment)
    return job


async def list_permanent_hosts(tx: Tx, env: str) -> list[PermanentHost]:
    """Newest first."""
    return await tx.all(
        PermanentHost,
        "select id, permanent_host, digest, switched or deployed_at is not null, permanent_ended"
        " from deployments where env_id = $1 and permanent_host is not null order by id desc",
        env,
    )


async def end_permanent_host(tx: Tx, deployment: str) -> None:
    await tx.run("update deployments set permanent_ended = true where id = $1", deployment)


async def end_replaced_hosts(tx: Tx, env: str) -> None:
    await tx.run(
        "update deployments set permanent_ended = true"
        " where env_id = $1 and status = 'superseded' and permanent_host is not null",
        env,
    )


async def forget_permanent_hosts(tx: Tx, deployments: Sequence[str]) -> None:
    await tx.run(
        "update deployments set permanent_host = null, permanent_ended = false where id = any($1)",
        list(deployments),
    )
