"""Rows of projects."""

from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.projects.rules import VisibleProject, VisibleTeamProject
from stead.control.projects.schema import ProjectView
from stead.shared.ids import AccountId, ProjectId, TeamId
from stead.shared.roles import Role


def _own(id_: ProjectId, name: str, created_at: datetime, account: AccountId) -> VisibleProject:
    return VisibleProject(id_, name, created_at, account, None, Role.OWNER)


def _teams(id_: ProjectId, name: str, created_at: datetime, team: TeamId, role: str) -> VisibleTeamProject:
    return VisibleTeamProject(id_, name, created_at, None, team, Role(role))


_OWN = "from projects where account_id = $1 and ($2::text is null or ($2 = 'project' and id = $3))"


async def find_own(tx: Tx, caller: Principal, project: str) -> VisibleProject | None:
    return await tx.one(
        _own,
        f"select id, name, created_at, account_id {_OWN} and id = $4",
        *(caller.account_id, caller.pin_type, caller.pin_id, project),
    )


async def page_own(tx: Tx, caller: Principal, request: PageRequest) -> Page[ProjectView]:
    return await request.fetch(
        tx,
        ProjectView,
        f"select id, name, team_id, created_at {_OWN} and id < $4 order by id desc limit $5",
        *(caller.account_id, caller.pin_type, caller.pin_id),
    )


async def find_in_team(tx: Tx, caller: Principal, team: str, project: str) -> VisibleTeamProject | None:
    return await tx.one(
        _teams,
        "select p.id, p.name, p.created_at, p.team_id, m.role"
        " from projects p join team_members m on m.team_id = p.team_id"
        " where m.account_id = $1 and (m.expires_at is null or m.expires_at > $2)"
        " and p.team_id = $5 and p.id = $6"
        " and ($3::text is null or $4 = case $3 when 'project' then p.id when 'team' then p.team_id end)",
        *(caller.account_id, tx.now, caller.pin_type, caller.pin_id, team, project),
    )


async def team_of(tx: Tx, project: str) -> TeamId | None:
    team: TeamId | None = await tx.value("select team_id from projects where id = $1", project)
    return team


async def page_of_team(tx: Tx, team: TeamId, request: PageRequest) -> Page[ProjectView]:
    return await request.fetch(
        tx,
        ProjectView,
        "select id, name, team_id, created_at from projects where team_id = $1 and id < $2"
        " order by id desc limit $3",
        team,
    )


async def insert(
    tx: Tx, project: ProjectId, name: str, *, account: AccountId | None = None, team: TeamId | None = None
) -> None:
    await tx.run(
        "insert into projects (id, name, account_id, team_id, created_at) values ($1, $2, $3, $4, $5)",
        project,
        name,
        account,
        team,
        tx.now,
    )


async def lock(tx: Tx, project: VisibleProject) -> bool:
    """Prevent the deletion of a project until the transaction ends. False if it is already deleted."""
    return await tx.value("select id from projects where id = $1 for key share", project.id) is not None


async def rename(tx: Tx, project: VisibleProject, name: str) -> None:
    await tx.run("update projects set name = $2 where id = $1", project.id, name)


async def delete(tx: Tx, project: VisibleProject) -> None:
    await tx.run("delete from projects where id = $1", project.id)
