"""HTTP operations on the projects of an account and of a team.

Most operations exist for both kinds of project: one handler is declared for two paths.
"""

from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.plans.rules import ProjectsExhausted
from stead.control.projects import service
from stead.control.projects.rules import OwnerDiffers, ProjectNotFound, VisibleProject, VisibleTeamProject
from stead.control.projects.schema import Assignment, NewProject, ProjectChange, ProjectView
from stead.control.sites.rules import SiteNotFound, VisibleSite
from stead.control.sites.schema import SiteView
from stead.control.teams.rules import TeamNotFound, VisibleTeam
from stead.shared.roles import Role

operation = Operations(tag="Projects")
team_operation = Operations(tag="Team projects")

_IN_TEAM = {"project": VisibleTeamProject}
_MISSING = (ProjectNotFound,)
_ASSIGN_ERRORS = (ProjectNotFound, SiteNotFound, OwnerDiffers)
_REMOVE_ERRORS = (ProjectNotFound, SiteNotFound)


@operation("GET /v1/projects", id="projects.list", scope="sites:read")
async def list_projects(call: Call, page: PageRequest) -> Page[ProjectView]:
    """List your own projects, newest first."""
    return await service.browse(call.tx, call.caller, page)


@team_operation(
    "GET /v1/teams/{team_id}/projects",
    id="team_projects.list",
    scope="teams:read",
    role=Role.OBSERVER,
    errors=[TeamNotFound],
)
async def list_team_projects(call: Call, team: VisibleTeam, page: PageRequest) -> Page[ProjectView]:
    """List the projects of the team, newest first."""
    return await service.browse_team(call.tx, team.id, page)


@operation(
    "POST /v1/projects",
    id="projects.create",
    scope="sites:write",
    status=201,
    account_wide=True,
    errors=[ProjectsExhausted],
)
async def create_project(call: Call, body: NewProject) -> ProjectView:
    """Create a project of your own."""
    project = await service.create(call.tx, call.caller, body)
    call.audit.note(project_id=project.id)
    return project


@team_operation(
    "POST /v1/teams/{team_id}/projects",
    id="team_projects.create",
    scope="teams:write",
    status=201,
    errors=[TeamNotFound, ProjectsExhausted],
)
async def create_team_project(call: Call, team: VisibleTeam, body: NewProject) -> ProjectView:
    """Create a project of the team."""
    project = await service.create(call.tx, call.caller, body, team=team.id)
    call.audit.note(project_id=project.id)
    return project


@operation("GET /v1/projects/{project_id}", id="projects.get", scope="sites:read", errors=_MISSING)
@team_operation(
    "GET /v1/teams/{team_id}/projects/{project_id}",
    id="team_projects.get",
    scope="teams:read",
    role=Role.OBSERVER,
    resources=_IN_TEAM,
    errors=_MISSING,
)
async def get_project(call: Call, project: VisibleProject) -> ProjectView:  # noqa: ARG001 - required by `operation`
    """Read a project."""
    return ProjectView(project.id, project.name, project.team_id, project.created_at)


@operation("PATCH /v1/projects/{project_id}", id="projects.update", scope="sites:write", errors=_MISSING)
@team_operation(
    "PATCH /v1/teams/{team_id}/projects/{project_id}",
    id="team_projects.update",
    scope="teams:write",
    resources=_IN_TEAM,
    errors=_MISSING,
)
async def update_project(call: Call, project: VisibleProject, body: ProjectChange) -> ProjectView:
    """Rename a project."""
    return await service.update(call.tx, project, body)


@operation(
    "DELETE /v1/projects/{project_id}",
    id="projects.delete",
    recent_sign_in=True,
    scope="sites:write",
    errors=_MISSING,
)
@team_operation(
    "DELETE /v1/teams/{team_id}/projects/{project_id}",
    id="team_projects.delete",
    recent_sign_in=True,
    scope="teams:write",
    resources=_IN_TEAM,
    errors=_MISSING,
)
async def delete_project(call: Call, project: VisibleProject) -> None:
    """Delete a project. Its sites are not deleted."""
    await service.delete(call.tx, project)


@operation("GET /v1/projects/{project_id}/sites", id="projects.sites", scope="sites:read", errors=_MISSING)
@team_operation(
    "GET /v1/teams/{team_id}/projects/{project_id}/sites",
    id="team_projects.sites",
    scope="teams:read",
    role=Role.OBSERVER,
    resources=_IN_TEAM,
    errors=_MISSING,
)
async def list_project_sites(call: Call, project: VisibleProject, page: PageRequest) -> Page[SiteView]:
    """List the sites of a project."""
    return await service.browse_sites(call.tx, call.caller, project, page)


@operation(
    "POST /v1/projects/{project_id}/sites",
    id="projects.assign_site",
    scope="sites:write",
    test_keys=True,
    errors=_ASSIGN_ERRORS,
)
@team_operation(
    "POST /v1/teams/{team_id}/projects/{project_id}/sites",
    id="team_projects.assign_site",
    scope="teams:write",
    test_keys=True,
    resources=_IN_TEAM,
    errors=_ASSIGN_ERRORS,
)
async def assign_site(call: Call, project: VisibleProject, body: Assignment) -> None:
    """Add a site with the same owner to the project. It is removed from its previous project."""
    await service.assign(call.tx, call.caller, project, body.site_id)
    call.audit.site_id = body.site_id


@operation(
    "DELETE /v1/projects/{project_id}/sites/{site_id}",
    id="projects.remove_site",
    destructive="reversible",
    scope="sites:write",
    errors=_REMOVE_ERRORS,
)
@team_operation(
    "DELETE /v1/teams/{team_id}/projects/{project_id}/sites/{site_id}",
    id="team_projects.remove_site",
    destructive="reversible",
    scope="teams:write",
    resources=_IN_TEAM,
    errors=_REMOVE_ERRORS,
)
async def remove_site(call: Call, project: VisibleProject, site: VisibleSite) -> None:
    """Remove a site from the project."""
    await service.remove(call.tx, project, site)
