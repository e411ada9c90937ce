"""Use cases of invites."""

import secrets
from hashlib import sha256

from stead.control.accounts import verification
from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.invites import store
from stead.control.invites.events import TEAM_INVITE_CREATED, TEAM_INVITE_REVOKED
from stead.control.invites.rules import LIFETIME, Invite, InviteNotFound
from stead.control.invites.schema import InviteView, NewInvite
from stead.control.members import service as members
from stead.control.members.rules import require_role_at_least
from stead.control.outbox import mail, mail_limits
from stead.control.outbox.events import About, publish
from stead.control.plans import service as plans
from stead.control.sealing import Sealer
from stead.control.teams import service as teams
from stead.control.teams.rules import VisibleTeam
from stead.shared.errors import FieldInvalid
from stead.shared.ids import TeamId, has_shape, new_id
from stead.shared.roles import Role


async def browse(tx: Tx, team: TeamId, page: PageRequest) -> Page[InviteView]:
    return await store.page(tx, team, page)


async def create(
    tx: Tx, sealer: Sealer, team: VisibleTeam, caller: Principal, new: NewInvite
) -> tuple[Invite, str]:
    require_role_at_least(await members.lock_role(tx, team.id, caller), new.role)
    if new.expires_at is not None and new.expires_at <= tx.now:
        raise FieldInvalid(param="expires_at", reason="`expires_at` is in the past.")
    await plans.require_room_in_account(tx, caller.account_id, "invites")
    token = secrets.token_urlsafe(32)
    created = Invite(
        id=new_id("inv"),
        team_id=team.id,
        role=new.role,
        email=new.email.lower() if new.email else None,
        invited_by=caller.account_id,
        expires_at=new.expires_at or tx.now + LIFETIME,
        created_at=tx.now,
    )
    await store.insert(tx, created, _hash(token))
    await publish(tx, TEAM_INVITE_CREATED, About(team_id=team.id), invite_id=created.id, role=created.role)
    if created.email is not None:
        await verification.require_verified(tx, caller.account_id)
        await mail_limits.count_email(tx, caller.account_id, created.email)
        await mail.enqueue_email(tx, sealer, _invite_email(created.email, caller, token))
    return created, token


async def revoke(tx: Tx, team: TeamId, invite_id: str) -> None:
    if not has_shape("inv", invite_id) or not await store.revoke(tx, team, invite_id):
        raise InviteNotFound
    await publish(tx, TEAM_INVITE_REVOKED, About(team_id=team), invite_id=invite_id)


async def accept(tx: Tx, caller: Principal, token: str) -> Invite:
    """Accept an invite. It is valid only while the inviter still has the role to create it."""
    pending = await store.pending(tx, _hash(token))
    if pending is None or (pending.email is not None and pending.email != caller.email):
        raise InviteNotFound
    if pending.email is not None:
        await verification.require_verified(tx, caller.account_id)
    if not await teams.lock(tx, pending.team_id):
        raise InviteNotFound
    inviter = await members.active_role(tx, pending.team_id, pending.invited_by)
    if inviter is None or not (inviter.is_at_least(Role.ADMIN) and inviter.is_at_least(pending.role)):
        raise InviteNotFound
    if not await store.accept(tx, pending):
        raise InviteNotFound
    await members.join(tx, pending.team_id, caller.account_id, pending.role, None)
    return pending


def _invite_email(to: str, caller: Principal, token: str) -> mail.Email:
    """Names the inviter by the verified address only. A name of a person or a team can be any text."""
    return mail.Email(
        to=to,
        subject=f"{mail.one_line(caller.email)} invites you to a team",
        text=(
            f"{caller.email} invites you to a team.\n\n"
            f"Sign in as {to} and accept with this token:\n\n    {token}\n\n"
            'With the API: POST /v1/invites/accept with {"token": "…"}.\n\n'
            "If you did not expect this, ignore it: nothing happens unless you accept.\n"
        ),
    )


def _hash(token: str) -> bytes:
    return sha256(token.encode()).digest()
