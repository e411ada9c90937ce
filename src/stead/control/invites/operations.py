"""HTTP operations on invites."""

from msgspec.structs import asdict

from stead.control.accounts.rules import EmailUnverified
from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.invites import service
from stead.control.invites.rules import Invite, InviteNotFound
from stead.control.invites.schema import (
    Acceptance,
    AcceptedView,
    CreatedInviteView,
    InviteView,
    NewInvite,
)
from stead.control.members.rules import MemberExists
from stead.control.outbox.mail_limits import EmailsExhausted
from stead.control.plans.rules import InvitesExhausted
from stead.control.teams.rules import TeamNotFound, VisibleTeam
from stead.shared.roles import Role

operation = Operations(tag="Invites")


@operation(
    "GET /v1/teams/{team_id}/invites",
    id="invites.list",
    scope="teams:read",
    test_keys=False,
    role=Role.ADMIN,
    errors=[TeamNotFound],
)
async def list_invites(call: Call, team: VisibleTeam, page: PageRequest) -> Page[InviteView]:
    """List the pending invites of the team."""
    return await service.browse(call.tx, team.id, page)


@operation(
    "POST /v1/teams/{team_id}/invites",
    id="invites.create",
    recent_sign_in=True,
    scope="teams:write",
    status=201,
    role=Role.ADMIN,
    errors=[TeamNotFound, EmailUnverified, EmailsExhausted, InvitesExhausted],
)
async def create_invite(call: Call, team: VisibleTeam, body: NewInvite) -> CreatedInviteView:
    """Invite somebody to the team, with a role not above your own.

    The token is returned only once, in this response. With an `email`, the token is also sent to that
    address, and only the account with that address can accept the invite, once the address is verified. Your
    own address must be verified for that.
    """
    invite, token = await service.create(call.tx, call.sealer, team, call.caller, body)
    call.audit.note(invite_id=invite.id, role=invite.role)
    return CreatedInviteView(**asdict(_view(invite)), token=token)


@operation(
    "DELETE /v1/teams/{team_id}/invites/{invite_id}",
    id="invites.revoke",
    destructive="reversible",
    scope="teams:write",
    role=Role.ADMIN,
    errors=[TeamNotFound, InviteNotFound],
)
async def revoke_invite(call: Call, team: VisibleTeam, invite_id: str) -> None:
    """Revoke a pending invite."""
    await service.revoke(call.tx, team.id, invite_id)


@operation(
    "POST /v1/invites/accept",
    id="invites.accept",
    scope="account:write",
    account_wide=True,
    errors=[InviteNotFound, MemberExists, EmailUnverified],
)
async def accept_invite(call: Call, body: Acceptance) -> AcceptedView:
    """Accept an invite and join the team."""
    invite = await service.accept(call.tx, call.caller, body.token)
    call.audit.team_id = invite.team_id
    call.audit.note(invite_id=invite.id, role=invite.role)
    return AcceptedView(invite.team_id, invite.role)


def _view(invite: Invite) -> InviteView:
    return InviteView(invite.id, invite.role, invite.email, invite.expires_at, invite.created_at)
