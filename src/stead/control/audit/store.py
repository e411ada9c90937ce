"""Queries of the audit trail, each restricted to an actor, a team or a site."""

from stead.control.audit.schema import AuditEventView, AuditFilter
from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.sites.rules import VisibleSite
from stead.control.teams.rules import VisibleTeam

_COLUMNS = ", ".join(AuditEventView.__struct_fields__)
_FILTERED = """
  and ($1::text is null or event = $1)
  and ($2::text is null or $2 in (actor_user_id, actor_email, actor_key_id))
  and ($3::timestamptz is null or created_at >= $3)
  and ($4::timestamptz is null or created_at < $4)
"""


async def _page(
    tx: Tx, condition: str, query: AuditFilter, request: PageRequest, *args: object
) -> Page[AuditEventView]:
    after = 5 + len(args)
    return await request.fetch(
        tx,
        AuditEventView,
        f"select {_COLUMNS} from audit_events where {condition} {_FILTERED}"  # noqa: S608
        f" and id < ${after} order by id desc limit ${after + 1}",
        query.event,
        query.actor,
        query.since,
        query.until,
        *args,
    )


async def page_of_actor(
    tx: Tx, caller: Principal, query: AuditFilter, request: PageRequest
) -> Page[AuditEventView]:
    """A pinned key sees only entries of the resource it is pinned to."""
    condition = """
      actor_user_id = $5 and ($6::text is null or $7 = case $6
        when 'team' then team_id when 'site' then site_id
        when 'project' then (select project_id from sites s where s.id = site_id) end)
    """
    return await _page(tx, condition, query, request, caller.account_id, caller.pin_type, caller.pin_id)


async def page_of_team(
    tx: Tx, team: VisibleTeam, query: AuditFilter, before: str | None, request: PageRequest
) -> Page[AuditEventView]:
    condition = "team_id = $5 and ($6::text is null or id < $6)"
    return await _page(tx, condition, query, request, team.id, before)


async def page_of_site(
    tx: Tx, site: VisibleSite, query: AuditFilter, request: PageRequest
) -> Page[AuditEventView]:
    return await _page(tx, "site_id = $5", query, request, site.id)
