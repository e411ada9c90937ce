"""Rows of invites. Queries return only pending invites: neither accepted nor expired."""

from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.invites.rules import Invite
from stead.control.invites.schema import InviteView
from stead.shared.ids import AccountId, TeamId
from stead.shared.roles import Role


def _invite(
    id_: str,
    team_id: TeamId,
    role: str,
    email: str | None,
    invited_by: AccountId,
    expires_at: datetime,
    created_at: datetime,
) -> Invite:
    return Invite(id_, team_id, Role(role), email, invited_by, expires_at, created_at)


async def insert(tx: Tx, invite: Invite, token_hash: bytes) -> None:
    await tx.run(
        "insert into team_invites (id, team_id, role, email, invited_by, expires_at, created_at, token_hash)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8)",
        invite.id,
        invite.team_id,
        invite.role.value,
        invite.email,
        invite.invited_by,
        invite.expires_at,
        invite.created_at,
        token_hash,
    )


async def page(tx: Tx, team: TeamId, request: PageRequest) -> Page[InviteView]:
    return await request.fetch(
        tx,
        InviteView,
        "select id, role, email, expires_at, created_at from team_invites"
        " where team_id = $1 and accepted_at is null and expires_at > $2 and id < $3"
        " order by id desc limit $4",
        team,
        tx.now,
    )


async def revoke(tx: Tx, team: TeamId, invite: str) -> bool:
    deleted = await tx.run(
        "delete from team_invites where team_id = $1 and id = $2 and accepted_at is null", team, invite
    )
    return deleted == 1


async def pending(tx: Tx, token_hash: bytes) -> Invite | None:
    """The pending invite of a token."""
    return await tx.one(
        _invite,
        "select id, team_id, role, email, invited_by, expires_at, created_at from team_invites"
        " where token_hash = $1 and accepted_at is null and expires_at > $2",
        token_hash,
        tx.now,
    )


async def accept(tx: Tx, invite: Invite) -> bool:
    """Mark an invite as accepted. False if it was already accepted or revoked."""
    used = await tx.run(
        "update team_invites set accepted_at = $2 where id = $1 and accepted_at is null", invite.id, tx.now
    )
    return used == 1
