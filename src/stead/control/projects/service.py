"""Use cases of projects of accounts and teams."""

from msgspec import UNSET

from stead.control.engines.postgres import Tx
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.plans import service as plans
from stead.control.plans.rules import Owner
from stead.control.projects import store
from stead.control.projects.rules import (
    OwnerDiffers,
    ProjectNotFound,
    VisibleProject,
    VisibleTeamProject,
)
from stead.control.projects.schema import NewProject, ProjectChange, ProjectView
from stead.control.sites import service as sites
from stead.control.sites.rules import SiteNotFound, VisibleSite
from stead.control.sites.schema import SiteView
from stead.control.teams import service as teams
from stead.control.teams.rules import TeamNotFound
from stead.shared.ids import ProjectId, TeamId, has_shape, new_id


async def visible_project(call: Call, project_id: str) -> VisibleProject:
    project = await store.find_own(call.tx, call.caller, project_id) if _is_id(project_id) else None
    if project is None:
        raise ProjectNotFound
    return project


async def visible_team_project(call: Call, team_id: str, project_id: str) -> VisibleTeamProject:
    is_valid = _is_id(project_id) and has_shape("team", team_id)
    project = await store.find_in_team(call.tx, call.caller, team_id, project_id) if is_valid else None
    if project is None:
        raise ProjectNotFound
    return project


async def find(tx: Tx, caller: Principal, project_id: str) -> VisibleProject:
    """A project of the caller's account or of one of the caller's teams."""
    if _is_id(project_id):
        own = await store.find_own(tx, caller, project_id)
        if own is not None:
            return own
        team = await store.team_of(tx, project_id)
        in_team = await store.find_in_team(tx, caller, team, project_id) if team else None
        if in_team is not None:
            return in_team
    raise ProjectNotFound


async def browse(tx: Tx, caller: Principal, page: PageRequest) -> Page[ProjectView]:
    return await store.page_own(tx, caller, page)


async def browse_team(tx: Tx, team: TeamId, page: PageRequest) -> Page[ProjectView]:
    return await store.page_of_team(tx, team, page)


async def create(tx: Tx, caller: Principal, new: NewProject, *, team: TeamId | None = None) -> ProjectView:
    if team is not None and not await teams.lock(tx, team):
        raise TeamNotFound
    project = ProjectId(new_id("proj"))
    account = caller.account_id if team is None else None
    await plans.require_room(tx, Owner(account_id=account, team_id=team), "projects")
    await store.insert(tx, project, new.name, account=account, team=team)
    return ProjectView(project, new.name, team, tx.now)


async def update(tx: Tx, project: VisibleProject, change: ProjectChange) -> ProjectView:
    name = project.name if change.name is UNSET else change.name
    await store.rename(tx, project, name)
    return ProjectView(project.id, name, project.team_id, project.created_at)


async def delete(tx: Tx, project: VisibleProject) -> None:
    """Delete a project. Its sites remain, without a project."""
    await store.delete(tx, project)


async def browse_sites(
    tx: Tx, caller: Principal, project: VisibleProject, page: PageRequest
) -> Page[SiteView]:
    return await sites.browse_project(tx, caller, project.id, page)


async def assign(tx: Tx, caller: Principal, project: VisibleProject, site_id: str) -> None:
    if not await store.lock(tx, project):
        raise ProjectNotFound
    site = await sites.find(tx, caller, site_id)
    if (site.account_id, site.team_id) != (project.account_id, project.team_id):
        raise OwnerDiffers
    await sites.set_project(tx, site, project.id)


async def remove(tx: Tx, project: VisibleProject, site: VisibleSite) -> None:
    if site.project_id != project.id:
        raise SiteNotFound
    await sites.set_project(tx, site, None)


def _is_id(text: str) -> bool:
    return has_shape("proj", text)
