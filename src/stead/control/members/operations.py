"""HTTP operations on the members of a team."""

from stead.control.http.operations import Call, Operations
from stead.control.http.pagination import Page, PageRequest
from stead.control.members import service
from stead.control.members.rules import LastOwner, MemberExists, MemberNotFound
from stead.control.members.schema import MemberChange, MemberView, NewMember
from stead.control.teams.rules import TeamNotFound, VisibleTeam
from stead.shared.errors import AccountNotFound
from stead.shared.ids import has_shape
from stead.shared.roles import Role

operation = Operations(tag="Members")


@operation(
    "GET /v1/teams/{team_id}/members",
    id="members.list",
    scope="teams:read",
    test_keys=False,
    role=Role.OBSERVER,
    errors=[TeamNotFound],
)
async def list_members(call: Call, team: VisibleTeam, page: PageRequest) -> Page[MemberView]:
    """List the members of the team, newest first."""
    return await service.browse(call.tx, team.id, page)


@operation(
    "POST /v1/teams/{team_id}/members",
    id="members.add",
    recent_sign_in=True,
    scope="teams:write",
    role=Role.ADMIN,
    errors=[TeamNotFound, AccountNotFound, MemberExists],
)
async def add_member(call: Call, team: VisibleTeam, body: NewMember) -> None:
    """Add an account to the team, with a role not above your own."""
    call.audit.note(role=body.role)
    if has_shape("client", body.client_id):
        call.audit.note(client_id=body.client_id)
    await service.add(call.tx, team.id, call.caller, body)


@operation(
    "PATCH /v1/teams/{team_id}/members/{client_id}",
    id="members.update",
    recent_sign_in=True,
    scope="teams:write",
    role=Role.ADMIN,
    errors=[TeamNotFound, MemberNotFound, LastOwner],
)
async def update_member(call: Call, team: VisibleTeam, client_id: str, body: MemberChange) -> None:
    """Change the role of a member or the expiry of the membership."""
    call.audit.note(role=body.role)
    await service.update(call.tx, team.id, call.caller, client_id, body)


@operation(
    "DELETE /v1/teams/{team_id}/members/{client_id}",
    id="members.remove",
    recent_sign_in=True,
    destructive="reversible",
    scope="teams:write",
    role=Role.ADMIN,
    own_account_param="client_id",
    errors=[TeamNotFound, MemberNotFound, LastOwner],
)
async def remove_member(call: Call, team: VisibleTeam, client_id: str) -> None:
    """Remove a member from the team, or leave it yourself.

    The last owner cannot leave: make another member an owner first, or delete the team.
    """
    await service.remove(call.tx, team.id, call.caller, client_id)
