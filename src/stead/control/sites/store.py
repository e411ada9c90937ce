"""Rows of sites. The visibility query is the only way to one."""

from stead.control.platform.database import Tx
from stead.control.platform.pagination import Page, PageRequest
from stead.control.platform.principal import Principal
from stead.control.sites.rules import VisibleSite
from stead.control.sites.schema import SiteView
from stead.shared.ids import AccountId, ProjectId, SiteId, TeamId
from stead.shared.roles import SEES_SITES, Role

_VIEW = ", ".join(f"s.{field}" for field in SiteView.__struct_fields__)
_VISIBLE = """
  from sites s left join team_members m
    on m.team_id = s.team_id and m.account_id = $1
    and (m.expires_at is null or m.expires_at > $2) and m.role = any($3)
  where (s.account_id = $1 or m.role is not null)
  and s.mode = any($4)
  and ($5::text is null or $6 = case $5
    when 'site' then s.id when 'project' then s.project_id when 'team' then s.team_id end)
"""


def _viewer(tx: Tx, caller: Principal) -> tuple[object, ...]:
    return caller.account_id, tx.now, SEES_SITES, caller.modes, caller.pin_type, caller.pin_id


def _visible(
    id_: SiteId, account: AccountId | None, team: TeamId | None, project: ProjectId | None, role: str | None
) -> VisibleSite:
    return VisibleSite(id_, account, team, project, Role(role) if role else Role.OWNER)


async def find(tx: Tx, caller: Principal, site: str) -> VisibleSite | None:
    return await tx.one(
        _visible,
        f"select s.id, s.account_id, s.team_id, s.project_id, m.role {_VISIBLE} and s.id = $7",
        *_viewer(tx, caller),
        site,
    )


async def page_of_team(tx: Tx, caller: Principal, team: TeamId, request: PageRequest) -> Page[SiteView]:
    return await request.of(
        tx,
        SiteView,
        f"select {_VIEW} {_VISIBLE} and s.team_id = $7 and s.id < $8 order by s.id desc limit $9",
        *_viewer(tx, caller),
        team,
    )


async def page_of_project(
    tx: Tx, caller: Principal, project: ProjectId, request: PageRequest
) -> Page[SiteView]:
    return await request.of(
        tx,
        SiteView,
        f"select {_VIEW} {_VISIBLE} and s.project_id = $7 and s.id < $8 order by s.id desc limit $9",
        *_viewer(tx, caller),
        project,
    )


async def set_project(tx: Tx, site: VisibleSite, project: ProjectId | None) -> None:
    await tx.run("update sites set project_id = $2 where id = $1", site.id, project)
