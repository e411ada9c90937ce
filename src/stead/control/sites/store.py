"""Queries of sites. A caller reaches a site only through the visibility condition."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from stead.control.domains.schema import build_challenge
from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Mode, Principal
from stead.control.outbox.events import About, publish
from stead.control.sites.events import SITE_STATUS_CHANGED
from stead.control.sites.jobs import SiteFacts
from stead.control.sites.rules import AbandonedSite, SiteStatus, VisibleSite
from stead.control.sites.schema import SiteFilter, SiteView
from stead.control.sites.visibility import OWNERS, sites_of_owner, viewer, visible_rows, with_role
from stead.shared.ids import AccountId, ProjectId, TeamId

_COLUMNS = ", ".join(f"s.{field}" for field in SiteView.__struct_fields__ if field != "challenge")
_CHALLENGE = (
    "(select d.challenge from domains d where d.site_id = s.id and d.is_primary and d.released_at is null"
    " and d.status <> 'verified')"
)
_VIEW = f"{_COLUMNS}, {_CHALLENGE}"
_FACTS = (
    "s.id, s.account_id, s.team_id, s.project_id, s.domain, s.slug, s.runtime, s.status, s.recoverable_until"
)
_VISIBLE = visible_rows("sites s")


def _build_view(*columns: Any) -> SiteView:
    *fields, challenge = columns
    site = SiteView(*fields)
    if challenge is not None:
        site.challenge = build_challenge(site.domain, challenge)
    return site


async def find(tx: Tx, caller: Principal, site: str) -> VisibleSite | None:
    return await tx.one(
        with_role(VisibleSite), f"select {_FACTS}, m.role {_VISIBLE} and s.id = $7", *viewer(tx, caller), site
    )


async def view(tx: Tx, site: VisibleSite) -> SiteView | None:
    return await tx.one(_build_view, f"select {_VIEW} from sites s where s.id = $1", site.id)  # noqa: S608


async def page(tx: Tx, caller: Principal, query: SiteFilter, request: PageRequest) -> Page[SiteView]:
    """List sites, newest first. Reads one page from the index of each owner.

    The query has only the conditions that apply.
    """
    conditions, values = _conditions(query)
    cursor, limit = len(values) + 7, len(values) + 8
    sql = f"""
      with {OWNERS}
      select {_VIEW} from owners o cross join lateral (
        select * from sites s where {sites_of_owner()} {conditions} and s.id < ${cursor}
        order by s.id desc limit ${limit}
      ) s order by s.id desc limit ${limit}
    """  # noqa: S608
    return await request.fetch(tx, _build_view, sql, *viewer(tx, caller), *values)


def _conditions(query: SiteFilter) -> tuple[str, list[str]]:
    conditions, values = "", []
    for value, condition in (
        (query.status, "s.status = ${}"),
        (query.q, "(position(${0} in s.domain) > 0 or position(${0} in s.slug) > 0)"),
        (
            query.domain,
            "(s.domain = ${0} or exists (select from domains d where d.site_id = s.id"
            " and d.hostname = ${0} and d.released_at is null))",
        ),
    ):
        if value is not None:
            values.append(value if condition.startswith("s.status") else value.strip().lower())
            conditions += f" and {condition.format(len(values) + 6)}"
    return conditions if query.status else f"{conditions} and s.status <> 'deleted'", values


async def page_of_team(tx: Tx, caller: Principal, team: TeamId, request: PageRequest) -> Page[SiteView]:
    return await request.fetch(
        tx,
        _build_view,
        f"select {_VIEW} {_VISIBLE} and s.team_id = $7 and s.id < $8 order by s.id desc limit $9",
        *viewer(tx, caller),
        team,
    )


async def page_of_project(
    tx: Tx, caller: Principal, project: ProjectId, request: PageRequest
) -> Page[SiteView]:
    return await request.fetch(
        tx,
        _build_view,
        f"select {_VIEW} {_VISIBLE} and s.project_id = $7 and s.id < $8 order by s.id desc limit $9",
        *viewer(tx, caller),
        project,
    )


async def set_project(tx: Tx, site: VisibleSite, project: ProjectId | None) -> None:
    await tx.run("update sites set project_id = $2 where id = $1", site.id, project)


async def insert(tx: Tx, site: SiteView, *, account: AccountId | None, mode: Mode) -> None:
    await tx.run(
        "insert into sites (id, account_id, team_id, mode, slug, domain, profile, runtime, php_version,"
        " region, git_repo, git_branch, status, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)",
        *(site.id, account, site.team_id, mode, site.slug, site.domain, site.profile, site.runtime),
        *(site.php_version, site.region, site.git_repo, site.git_branch, site.status, site.created_at),
    )


async def get_php_version(tx: Tx, site: str) -> str | None:
    found: str | None = await tx.value("select php_version from sites where id = $1", site)
    return found


async def set_php_version(tx: Tx, site: str, version: str) -> None:
    await tx.run("update sites set php_version = $2 where id = $1", site, version)


async def set_status(
    tx: Tx,
    site: str,
    status: SiteStatus,
    *,
    after: tuple[SiteStatus, ...],
    reason: str | None = None,
    recoverable_until: datetime | None = None,
) -> bool:
    """Change the status if the current one is in `after`. Returns whether it was.

    This is the only place that publishes the change.
    """
    changed = await tx.one(
        lambda *row: row,
        "update sites s set status = $2, status_reason = $4, recoverable_until = $5"
        " from (select id, status from sites where id = $1 for update) before"
        " where s.id = before.id and before.status = any($3)"
        " returning before.status, s.domain, s.account_id, s.team_id",
        site,
        status,
        list(after),
        reason,
        recoverable_until,
    )
    if changed is None:
        return False
    previous, domain, account, team = changed
    if previous != status:
        about = About(account_id=account, team_id=team, site_id=site)
        await publish(
            tx,
            SITE_STATUS_CHANGED,
            about,
            domain=domain,
            status=status,
            previous=previous,
            reason=reason,
        )
    return True


async def get_status_reason(tx: Tx, site: VisibleSite) -> str | None:
    reason: str | None = await tx.value("select status_reason from sites where id = $1", site.id)
    return reason


async def set_owner(tx: Tx, site: VisibleSite, *, account: AccountId | None, team: TeamId | None) -> None:
    await tx.run(
        "update sites set account_id = $2, team_id = $3, project_id = null where id = $1",
        site.id,
        account,
        team,
    )


async def is_awaiting_push(tx: Tx, site: str) -> bool:
    """Until the transaction ends."""
    status = await tx.value("select status from sites where id = $1 for update", site)
    return bool(status == "awaiting_push")


async def get_facts(tx: Tx, site: str) -> SiteFacts | None:
    return await tx.one(
        SiteFacts,
        "select domain, region, runtime, mode, account_id, team_id from sites where id = $1",
        site,
    )


async def count_of_account(tx: Tx, account: AccountId) -> int:
    return int(
        await tx.value("select count(*) from sites where account_id = $1 and status <> 'deleted'", account)
    )


async def list_of_closed_accounts(
    tx: Tx, busy: list[str], statuses: Sequence[SiteStatus]
) -> list[AbandonedSite]:
    """Sites with one of the statuses and without a job. Without those of the `busy` owners."""
    return await tx.all(
        AbandonedSite,
        "select s.id, s.account_id, s.status, s.status_reason from accounts a"
        " join sites s on s.account_id = a.id where a.closed_at is not null and a.erased_at is null"
        " and s.status = any($1) and s.account_id <> all($2) and not exists"
        " (select from jobs j where j.site_id = s.id and j.status in ('queued', 'running'))"
        " order by s.id limit 20 for update of s skip locked",
        list(statuses),
        busy,
    )


async def list_expired(tx: Tx, busy: list[str]) -> list[tuple[str, str]]:
    """Deleted sites that can no longer be recovered and still have files on a node, each with its owner.

    Without those of the `busy` owners.
    """
    return await tx.all(
        lambda *row: row,
        "select s.id, coalesce(s.team_id, s.account_id) from sites s"
        " where s.status = 'deleted' and s.recoverable_until <= $1 and exists"
        " (select from environments e where e.site_id = s.id and e.node_id is not null) and not exists"
        " (select from jobs j where j.site_id = s.id and j.status in ('queued', 'running'))"
        " and coalesce(s.team_id, s.account_id) <> all($2)"
        " order by s.id limit 20 for update of s skip locked",
        tx.now,
        busy,
    )
