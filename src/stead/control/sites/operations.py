"""HTTP operations on sites."""

from stead.control.platform.operations import Call, Operations
from stead.control.platform.pagination import Page, PageRequest
from stead.control.sites import service
from stead.control.sites.schema import SiteView
from stead.control.teams.rules import TeamNotFound, VisibleTeam
from stead.shared.roles import Role

operation = Operations(tag="Sites")


@operation(
    "GET /v1/teams/{team_id}/sites",
    id="teams.sites",
    scope="teams:read",
    role=Role.OBSERVER,
    errors=[TeamNotFound],
)
async def list_team_sites(call: Call, team: VisibleTeam, page: PageRequest) -> Page[SiteView]:
    """List the sites that a team owns."""
    return await service.browse_team(call.tx, call.caller, team.id, page)
