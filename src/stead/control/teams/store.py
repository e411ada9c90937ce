"""Rows of teams. A caller sees a team through an active membership."""

from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.teams.rules import VisibleTeam
from stead.control.teams.schema import TeamView
from stead.shared.ids import TeamId, new_id
from stead.shared.roles import Role

_VISIBLE = """
  from teams t join team_members m on m.team_id = t.id
  where m.account_id = $1 and (m.expires_at is null or m.expires_at > $2)
  and ($3::text is null or ($3 = 'team' and t.id = $4))
"""


def _viewer(tx: Tx, caller: Principal) -> tuple[object, ...]:
    return caller.account_id, tx.now, caller.pin_type, caller.pin_id


def _visible(id_: TeamId, name: str, plan: str, created_at: datetime, role: str) -> VisibleTeam:
    return VisibleTeam(id_, name, plan, created_at, Role(role))


async def find(tx: Tx, caller: Principal, team: str) -> VisibleTeam | None:
    sql = f"select t.id, t.name, t.plan, t.created_at, m.role {_VISIBLE} and t.id = $5"
    return await tx.one(_visible, sql, *_viewer(tx, caller), team)


async def page(tx: Tx, caller: Principal, request: PageRequest) -> Page[TeamView]:
    return await request.fetch(
        tx,
        TeamView,
        f"select t.id, t.name, t.plan, t.created_at, m.role {_VISIBLE} and t.id < $5"
        " order by t.id desc limit $6",
        *_viewer(tx, caller),
        by="team_id",
    )


async def insert(tx: Tx, team: TeamId, name: str, caller: Principal) -> None:
    """A new team has the plan of the account that creates it."""
    await tx.run(
        "insert into teams (id, name, plan, founded_by, created_at)"
        " select $1, $2, plan, id, $4 from accounts where id = $3",
        team,
        name,
        caller.account_id,
        tx.now,
    )


async def rename(tx: Tx, team: VisibleTeam, name: str) -> None:
    await tx.run("update teams set name = $2 where id = $1", team.id, name)


async def insert_owner(tx: Tx, team: TeamId, caller: Principal) -> None:
    await tx.run(
        "insert into team_members (id, team_id, account_id, role, created_at)"
        " values ($1, $2, $3, 'owner', $4)",
        new_id("mem"),
        team,
        caller.account_id,
        tx.now,
    )


async def lock(tx: Tx, team: TeamId) -> bool:
    return await tx.value("select id from teams where id = $1 for update", team) is not None


async def has_sites(tx: Tx, team: VisibleTeam) -> bool:
    """Deleted sites do not count: otherwise a team could not be deleted while they are recoverable."""
    return bool(
        await tx.value(
            "select exists (select from sites where team_id = $1 and status <> 'deleted')", team.id
        )
    )


async def delete(tx: Tx, caller: Principal, team: VisibleTeam) -> list[str]:
    """Delete the team and return the accounts whose default team it was.

    Its deleted sites are transferred to the caller.
    """
    await tx.run(
        "update sites set team_id = null, project_id = null, account_id = $2 where team_id = $1",
        team.id,
        caller.account_id,
    )
    accounts = await tx.all(str, "select id from accounts where default_team_id = $1", team.id)
    await tx.run("delete from teams where id = $1", team.id)
    return accounts
