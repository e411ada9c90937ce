"""Rows of jobs as callers see them. A job is visible if its site is."""

from typing import Any

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.jobs.rules import VisibleJob
from stead.control.jobs.schema import JobFilter, JobView
from stead.control.sites.visibility import OWNERS, sites_of_owner, viewer, visible_rows, with_role
from stead.shared.ids import JobId

_VIEW = "j.id, j.type, j.status, j.created_at, j.resource, j.result, j.error"
_VISIBLE = visible_rows("jobs j join sites s on s.id = j.site_id", environment="j.env_id")
_ITS_ENVIRONMENT = "(select e.id from environments e where e.id = $6 and e.site_id = s.id)"


async def find(tx: Tx, caller: Principal, job: str) -> VisibleJob | None:
    return await tx.one(
        with_role(VisibleJob),
        f"select {_VIEW}, j.revision, j.scope, j.site_id, s.team_id, m.role {_VISIBLE} and j.id = $7",
        *viewer(tx, caller),
        job,
    )


async def page(tx: Tx, caller: Principal, query: JobFilter, request: PageRequest) -> Page[JobView]:
    """List jobs, newest first.

    The jobs of a page belong to the sites with the newest jobs, at most one site per job. So only the newest
    job of every other site is read. A job follows its site to a new owner, so its own `owner` does not help.

    The query has only the conditions that apply: with one that is true for null, PostgreSQL would expect it
    to exclude most jobs, and read all jobs of a site to find one.
    """
    args, conditions = [*viewer(tx, caller)], ["j.site_id = s.id"]
    if caller.pin_type == "environment":
        conditions.append("j.env_id = $6")
    for column, value in (
        ("j.status", query.status),
        ("j.resource ->> 'type'", query.resource_type),
        ("j.site_id", query.site_id),
    ):
        if value is not None:
            args.append(value)
            conditions.append(f"{column} = ${len(args)}")
    after, limit = f"${len(args) + 1}", f"${len(args) + 2}"
    jobs = f"jobs j where {' and '.join(conditions)} and j.id < {after} order by j.id desc"
    return await request.fetch(
        tx,
        JobView.read,
        f"""
        with {OWNERS}, recent_sites as (
          select s.id from owners o join sites s on {sites_of_owner(environment=_ITS_ENVIRONMENT)}
          cross join lateral (select j.id from {jobs} limit 1) newest order by newest.id desc limit {limit}
        )
        select {_VIEW} from recent_sites s cross join lateral (select * from {jobs} limit {limit}) j
        order by j.id desc limit {limit}
        """,  # noqa: S608 - all values are parameters
        *args,
    )


async def list_asked_nodes(tx: Tx, job: str) -> list[str] | None:
    nodes: list[str] | None = await tx.value("select nodes from jobs where id = $1", job)
    return nodes


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
    by_platform: bool,
    parallel: int,
) -> JobView:
    await tx.run(
        "insert into jobs (id, type, site_id, env_id, owner, scope, resource, params, created_at,"
        " by_platform, parallel) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        job,
        type_,
        site_id,
        env_id,
        owner,
        scope,
        resource,
        params,
        tx.now,
        by_platform,
        parallel,
    )
    return JobView.read(job, type_, "queued", tx.now, resource, None, None)


async def lock_queue(tx: Tx, owner: str) -> None:
    """Other transactions that queue a job of this owner wait until this one ends."""
    await tx.value("select pg_advisory_xact_lock(hashtext('jobs.waiting'), hashtext($1))", owner)


async def waiting(tx: Tx, owner: str) -> int:
    """Count the queued jobs without those of the platform."""
    return int(
        await tx.value(
            "select count(*) from jobs where owner = $1 and status = 'queued' and not by_platform", owner
        )
    )


async def owners_with_platform_jobs(tx: Tx, at_least: int) -> list[str]:
    return await tx.all(
        str,
        "select owner from jobs where by_platform and status = 'queued' group by owner having count(*) >= $1",
        at_least,
    )


async def list_running_on(tx: Tx, site: str, node: str) -> list[str]:
    return await tx.all(
        str,
        "select id from jobs where site_id = $1 and status in ('queued', 'running') and $2 = any(nodes)",
        site,
        node,
    )


async def list_waiting_for(tx: Tx, node: str, *, after: str, limit: int) -> list[str]:
    """Jobs of any site that have asked this node and no other one since then, in order of id."""
    return await tx.all(
        str,
        "select id from jobs where status in ('queued', 'running') and nodes[cardinality(nodes)] = $1"
        " and id > $2 order by id limit $3",
        *(node, after, limit),
    )


async def is_busy(tx: Tx, site: str) -> bool:
    return bool(
        await tx.value(
            "select exists (select from jobs where site_id = $1 and status in ('queued', 'running'))", site
        )
    )


async def view(tx: Tx, job: str) -> JobView | None:
    return await tx.one(JobView.read, f"select {_VIEW} from jobs j where j.id = $1", job)  # noqa: S608
