"""HTTP operations on the projects of a team."""

from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.projects import service
from stead.control.projects.rules import OwnerDiffers, ProjectNotFound, VisibleTeamProject
from stead.control.projects.schema import Assignment, NewProject, ProjectChange, ProjectView
from stead.control.sites.rules import SiteNotFound, VisibleSite
from stead.control.sites.schema import SiteView
from stead.control.teams.rules import TeamNotFound, VisibleTeam
from stead.shared.roles import Role

operation = Operations(tag="Team projects")


@operation(
    "GET /v1/teams/{team_id}/projects",
    id="team_projects.list",
    scope="teams:read",
    role=Role.OBSERVER,
    errors=[TeamNotFound],
)
async def list_projects(call: Call, team: VisibleTeam, page: PageRequest) -> Page[ProjectView]:
    """List the team's projects, newest first."""
    return await service.browse_team(call.tx, team.id, page)


@operation(
    "POST /v1/teams/{team_id}/projects",
    id="team_projects.create",
    scope="teams:write",
    status=201,
    errors=[TeamNotFound],
)
async def create_project(call: Call, team: VisibleTeam, body: NewProject) -> ProjectView:
    """Create a project of the team."""
    project = await service.create(call.tx, call.caller, body, team=team.id)
    call.audit.note(project_id=project.id)
    return project


@operation(
    "GET /v1/teams/{team_id}/projects/{project_id}",
    id="team_projects.get",
    scope="teams:read",
    role=Role.OBSERVER,
    errors=[ProjectNotFound],
)
async def get_project(call: Call, project: VisibleTeamProject) -> ProjectView:  # noqa: ARG001 - it has its call
    """Read a project of the team."""
    return ProjectView(project.id, project.name, project.team_id, project.created_at)


@operation(
    "PATCH /v1/teams/{team_id}/projects/{project_id}",
    id="team_projects.update",
    scope="teams:write",
    errors=[ProjectNotFound],
)
async def update_project(call: Call, project: VisibleTeamProject, body: ProjectChange) -> ProjectView:
    """Rename a project of the team."""
    return await service.change(call.tx, project, body)


@operation(
    "DELETE /v1/teams/{team_id}/projects/{project_id}",
    id="team_projects.delete",
    scope="teams:write",
    errors=[ProjectNotFound],
)
async def delete_project(call: Call, project: VisibleTeamProject) -> None:
    """Delete a project of the team; its sites stay."""
    await service.delete(call.tx, project)


@operation(
    "GET /v1/teams/{team_id}/projects/{project_id}/sites",
    id="team_projects.sites",
    scope="teams:read",
    role=Role.OBSERVER,
    errors=[ProjectNotFound],
)
async def list_project_sites(call: Call, project: VisibleTeamProject, page: PageRequest) -> Page[SiteView]:
    """List the sites of a project of the team."""
    return await service.browse_sites(call.tx, call.caller, project, page)


@operation(
    "POST /v1/teams/{team_id}/projects/{project_id}/sites",
    id="team_projects.assign_site",
    scope="teams:write",
    errors=[ProjectNotFound, SiteNotFound, OwnerDiffers],
)
async def assign_site(call: Call, project: VisibleTeamProject, body: Assignment) -> None:
    """Put a site of the team into the project, taking it out of another."""
    await service.assign(call.tx, call.caller, project, body.site_id)
    call.audit.site_id = body.site_id


@operation(
    "DELETE /v1/teams/{team_id}/projects/{project_id}/sites/{site_id}",
    id="team_projects.remove_site",
    scope="teams:write",
    errors=[ProjectNotFound, SiteNotFound],
)
async def remove_site(call: Call, project: VisibleTeamProject, site: VisibleSite) -> None:
    """Take a site out of the project."""
    await service.remove(call.tx, project, site)
