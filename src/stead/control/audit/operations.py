"""HTTP operations on the audit trail."""

from stead.control.audit import service
from stead.control.audit.schema import AuditEventView, AuditFilter, TeamAuditFilter
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.sites.rules import SiteNotFound, VisibleSite
from stead.control.teams.rules import TeamNotFound, VisibleTeam
from stead.shared.roles import Role

operation = Operations(tag="Audit")


@operation("GET /v1/account/audit", id="account.audit", scope="audit:read", test_keys=False)
async def list_own_events(call: Call, query: AuditFilter, page: PageRequest) -> Page[AuditEventView]:
    """List the actions of your account and its API keys, including denied ones."""
    return await service.browse_own(call.tx, call.caller, query, page)


@operation(
    "GET /v1/teams/{team_id}/audit",
    id="teams.audit",
    scope="audit:read",
    test_keys=False,
    role=Role.ADMIN,
    errors=[TeamNotFound],
)
async def list_team_events(
    call: Call, team: VisibleTeam, query: TeamAuditFilter, page: PageRequest
) -> Page[AuditEventView]:
    """List the actions in a team, including denied ones."""
    return await service.browse_team(call.tx, team, query, page)


@operation("GET /v1/sites/{site_id}/audit", id="sites.audit", scope="audit:read", errors=[SiteNotFound])
async def list_site_events(
    call: Call, site: VisibleSite, query: AuditFilter, page: PageRequest
) -> Page[AuditEventView]:
    """List the actions on a site, including denied ones."""
    return await service.browse_site(call.tx, site, query, page)
