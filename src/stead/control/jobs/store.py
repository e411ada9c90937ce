"""Rows of jobs as callers see them. A job is visible if its site is."""

from typing import Any

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.jobs.rules import VisibleJob
from stead.control.jobs.schema import JobFilter, JobView
from stead.control.sites.visibility import viewer, visible_rows, with_role
from stead.shared.ids import JobId

_VIEW = "j.id, j.type, j.status, j.created_at, j.resource, j.result, j.error"
_VISIBLE = visible_rows("jobs j join sites s on s.id = j.site_id", environment="j.env_id")


async def find(tx: Tx, caller: Principal, job: str) -> VisibleJob | None:
    return await tx.one(
        with_role(VisibleJob),
        f"select {_VIEW}, j.revision, j.scope, j.site_id, s.team_id, m.role {_VISIBLE} and j.id = $7",
        *viewer(tx, caller),
        job,
    )


async def page(tx: Tx, caller: Principal, query: JobFilter, request: PageRequest) -> Page[JobView]:
    return await request.fetch(
        tx,
        JobView.read,
        f"select {_VIEW} {_VISIBLE} and ($7::text is null or j.status = $7)"
        " and ($8::text is null or j.resource ->> 'type' = $8)"
        " and ($9::text is null or j.site_id = $9) and j.id < $10 order by j.id desc limit $11",
        *viewer(tx, caller),
        query.status,
        query.resource_type,
        query.site_id,
    )


async def insert(
    tx: Tx,
    job: JobId,
    *,
    type_: str,
    site_id: str,
    env_id: str | None,
    owner: str,
    scope: str,
    resource: dict[str, Any],
    params: dict[str, Any],
) -> JobView:
    await tx.run(
        "insert into jobs (id, type, site_id, env_id, owner, scope, resource, params, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        job,
        type_,
        site_id,
        env_id,
        owner,
        scope,
        resource,
        params,
        tx.now,
    )
    return JobView.read(job, type_, "queued", tx.now, resource, None, None)


async def waiting(tx: Tx, owner: str) -> int:
    """Count the queued jobs. Other transactions of this owner wait here until this one ends."""
    await tx.value("select pg_advisory_xact_lock(hashtext('jobs.waiting'), hashtext($1))", owner)
    return int(await tx.value("select count(*) from jobs where owner = $1 and status = 'queued'", owner))


async def is_busy(tx: Tx, site: str) -> bool:
    return bool(
        await tx.value(
            "select exists (select from jobs where site_id = $1 and status in ('queued', 'running'))", site
        )
    )


async def view(tx: Tx, job: str) -> JobView | None:
    return await tx.one(JobView.read, f"select {_VIEW} from jobs j where j.id = $1", job)  # noqa: S608
