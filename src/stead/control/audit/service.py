"""Reading the audit trail of an account, a team or a site."""

from stead.control.audit import store
from stead.control.audit.schema import AuditEventView, AuditFilter, TeamAuditFilter
from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.sites.rules import VisibleSite
from stead.control.teams.rules import VisibleTeam


async def browse_own(
    tx: Tx, caller: Principal, query: AuditFilter, page: PageRequest
) -> Page[AuditEventView]:
    return await store.page_of_actor(tx, caller, query, page)


async def browse_team(
    tx: Tx, team: VisibleTeam, query: TeamAuditFilter, page: PageRequest
) -> Page[AuditEventView]:
    return await store.page_of_team(tx, team, query, query.before, page)


async def browse_site(
    tx: Tx, site: VisibleSite, query: AuditFilter, page: PageRequest
) -> Page[AuditEventView]:
    return await store.page_of_site(tx, site, query, page)
