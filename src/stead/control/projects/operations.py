"""HTTP operations on a person's own projects."""

from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.projects import service
from stead.control.projects.rules import OwnerDiffers, ProjectNotFound, VisibleProject
from stead.control.projects.schema import Assignment, NewProject, ProjectChange, ProjectView
from stead.control.sites.rules import SiteNotFound, VisibleSite
from stead.control.sites.schema import SiteView

operation = Operations(tag="Projects")
MISSING = (ProjectNotFound,)


@operation("GET /v1/projects", id="projects.list", scope="sites:read")
async def list_projects(call: Call, page: PageRequest) -> Page[ProjectView]:
    """List your own projects, newest first."""
    return await service.browse(call.tx, call.caller, page)


@operation("POST /v1/projects", id="projects.create", scope="sites:write", status=201, account_wide=True)
async def create_project(call: Call, body: NewProject) -> ProjectView:
    """Create a project of your own."""
    project = await service.create(call.tx, call.caller, body)
    call.audit.note(project_id=project.id)
    return project


@operation("GET /v1/projects/{project_id}", id="projects.get", scope="sites:read", errors=MISSING)
async def get_project(call: Call, project: VisibleProject) -> ProjectView:  # noqa: ARG001 - it has its call
    """Read a project."""
    return ProjectView(project.id, project.name, None, project.created_at)


@operation("PATCH /v1/projects/{project_id}", id="projects.update", scope="sites:write", errors=MISSING)
async def update_project(call: Call, project: VisibleProject, body: ProjectChange) -> ProjectView:
    """Rename a project."""
    return await service.change(call.tx, project, body)


@operation("DELETE /v1/projects/{project_id}", id="projects.delete", scope="sites:write", errors=MISSING)
async def delete_project(call: Call, project: VisibleProject) -> None:
    """Delete a project; its sites stay."""
    await service.delete(call.tx, project)


@operation("GET /v1/projects/{project_id}/sites", id="projects.sites", scope="sites:read", errors=MISSING)
async def list_project_sites(call: Call, project: VisibleProject, page: PageRequest) -> Page[SiteView]:
    """List the sites of a project."""
    return await service.browse_sites(call.tx, call.caller, project, page)


@operation(
    "POST /v1/projects/{project_id}/sites",
    id="projects.assign_site",
    scope="sites:write",
    errors=[ProjectNotFound, SiteNotFound, OwnerDiffers],
)
async def assign_site(call: Call, project: VisibleProject, body: Assignment) -> None:
    """Put a site of yours into the project, taking it out of another."""
    await service.assign(call.tx, call.caller, project, body.site_id)
    call.audit.site_id = body.site_id


@operation(
    "DELETE /v1/projects/{project_id}/sites/{site_id}",
    id="projects.remove_site",
    scope="sites:write",
    errors=[ProjectNotFound, SiteNotFound],
)
async def remove_site(call: Call, project: VisibleProject, site: VisibleSite) -> None:
    """Take a site out of the project."""
    await service.remove(call.tx, project, site)
