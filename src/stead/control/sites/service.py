"""What callers do with sites, each inside the caller's transaction."""

from stead.control.platform.database import Tx
from stead.control.platform.operations import Call
from stead.control.platform.pagination import Page, PageRequest
from stead.control.platform.principal import Principal
from stead.control.platform.visibility import resolver
from stead.control.sites import store
from stead.control.sites.rules import SiteNotFound, VisibleSite
from stead.control.sites.schema import SiteView
from stead.shared.ids import ProjectId, TeamId, has_shape


@resolver
async def visible_site(call: Call, site_id: str) -> VisibleSite:
    return await find(call.tx, call.caller, site_id)


async def find(tx: Tx, caller: Principal, site_id: str) -> VisibleSite:
    site = await store.find(tx, caller, site_id) if has_shape("site", site_id) else None
    if site is None:
        raise SiteNotFound
    return site


async def browse_team(tx: Tx, caller: Principal, team: TeamId, page: PageRequest) -> Page[SiteView]:
    return await store.page_of_team(tx, caller, team, page)


async def browse_project(tx: Tx, caller: Principal, project: ProjectId, page: PageRequest) -> Page[SiteView]:
    return await store.page_of_project(tx, caller, project, page)


async def put_into(tx: Tx, site: VisibleSite, project: ProjectId | None) -> None:
    await store.set_project(tx, site, project)
