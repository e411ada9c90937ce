"""Rows of memberships."""

from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.members.rules import Membership
from stead.control.members.schema import MemberView
from stead.shared.ids import AccountId, TeamId, new_id
from stead.shared.roles import Role


def _membership(account_id: AccountId, role: str, expires_at: datetime | None) -> Membership:
    return Membership(account_id, Role(role), expires_at)


async def find(tx: Tx, team: TeamId, account: str) -> Membership | None:
    return await tx.one(
        _membership,
        "select account_id, role, expires_at from team_members where team_id = $1 and account_id = $2",
        team,
        account,
    )


async def page(tx: Tx, team: TeamId, request: PageRequest) -> Page[MemberView]:
    return await request.fetch(
        tx,
        MemberView,
        "select m.id, m.account_id, a.email, a.name, m.role, m.expires_at, m.created_at"
        " from team_members m join accounts a on a.id = m.account_id"
        " where m.team_id = $1 and (m.expires_at is null or m.expires_at > $2) and m.id < $3"
        " order by m.id desc limit $4",
        team,
        tx.now,
    )


async def list_teams(tx: Tx, account: AccountId) -> list[TeamId]:
    """Also those whose membership has expired. Always in the same order, because each is locked."""
    return await tx.all(
        TeamId, "select team_id from team_members where account_id = $1 order by team_id", account
    )


async def account_exists(tx: Tx, account: str) -> bool:
    return bool(
        await tx.value("select exists (select from accounts where id = $1 and closed_at is null)", account)
    )


async def insert(tx: Tx, team: TeamId, account: str, role: Role, expires_at: datetime | None) -> None:
    await tx.run(
        "insert into team_members (id, team_id, account_id, role, expires_at, created_at)"
        " values ($1, $2, $3, $4, $5, $6)",
        new_id("mem"),
        team,
        account,
        role.value,
        expires_at,
        tx.now,
    )


async def update(tx: Tx, team: TeamId, account: str, role: Role, expires_at: datetime | None) -> None:
    await tx.run(
        "update team_members set role = $3, expires_at = $4 where team_id = $1 and account_id = $2",
        team,
        account,
        role.value,
        expires_at,
    )


async def delete(tx: Tx, team: TeamId, account: str) -> None:
    await tx.run("delete from team_members where team_id = $1 and account_id = $2", team, account)
    await tx.run(
        "update accounts set default_team_id = null where id = $2 and default_team_id = $1", team, account
    )


async def has_permanent_owner(tx: Tx, team: TeamId) -> bool:
    return bool(
        await tx.value(
            "select exists (select from team_members"
            " where team_id = $1 and role = 'owner' and expires_at is null)",
            team,
        )
    )
