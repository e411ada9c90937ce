"""HTTP operations on teams."""

from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.plans.rules import TeamsExhausted
from stead.control.plans.schema import PlanView
from stead.control.teams import service
from stead.control.teams.rules import TeamHasSites, TeamNotFound, VisibleTeam
from stead.control.teams.schema import CreatedTeamView, NewTeam, TeamChange, TeamView
from stead.shared.roles import Role

operation = Operations(tag="Teams")


@operation("GET /v1/teams", id="teams.list", scope="teams:read")
async def list_teams(call: Call, page: PageRequest) -> Page[TeamView]:
    """List the teams of which you are a member, with your role in each."""
    return await service.browse(call.tx, call.caller, page)


@operation(
    "POST /v1/teams",
    id="teams.create",
    scope="teams:write",
    status=201,
    account_wide=True,
    errors=[TeamsExhausted],
)
async def create_team(call: Call, body: NewTeam) -> CreatedTeamView:
    """Create a team and become its owner."""
    team = await service.create(call.tx, call.caller, body)
    call.audit.team_id = team
    return CreatedTeamView(team)


@operation("GET /v1/teams/{team_id}", id="teams.get", scope="teams:read", errors=[TeamNotFound])
async def get_team(call: Call, team: VisibleTeam) -> TeamView:  # noqa: ARG001 - required by `operation`
    """Read a team."""
    return TeamView(team.id, team.name, team.plan, team.created_at, team.role)


@operation(
    "PATCH /v1/teams/{team_id}",
    id="teams.update",
    scope="teams:write",
    role=Role.ADMIN,
    errors=[TeamNotFound],
)
async def update_team(call: Call, team: VisibleTeam, body: TeamChange) -> TeamView:
    """Rename a team."""
    name = await service.update(call.tx, team, body)
    return TeamView(team.id, name, team.plan, team.created_at, team.role)


@operation(
    "DELETE /v1/teams/{team_id}",
    id="teams.delete",
    recent_sign_in=True,
    scope="teams:write",
    role=Role.OWNER,
    errors=[TeamNotFound, TeamHasSites],
)
async def delete_team(call: Call, team: VisibleTeam) -> None:
    """Delete a team that has no sites.

    Deleted sites that can still be recovered are transferred to your account.
    """
    await service.delete(call.tx, call.caller, team)


@operation("GET /v1/teams/{team_id}/plan", id="teams.plan", scope="teams:read", errors=[TeamNotFound])
async def get_plan(call: Call, team: VisibleTeam) -> PlanView:
    """Read the limits of the team's plan and the current usage."""
    return await service.plan(call.tx, team)
