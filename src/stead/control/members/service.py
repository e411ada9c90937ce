"""Use cases of team members.

Every change locks the team before it reads roles. Otherwise two concurrent changes, each of them allowed,
could leave a team without an owner.
"""

from datetime import datetime

from msgspec import UNSET

from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal
from stead.control.http.principal_cache import invalidate_cached_principals
from stead.control.members import store
from stead.control.members.events import TEAM_MEMBER_ADDED, TEAM_MEMBER_CHANGED, TEAM_MEMBER_REMOVED
from stead.control.members.rules import (
    LastOwner,
    MemberExists,
    MemberNotFound,
    Membership,
    require_role_at_least,
)
from stead.control.members.schema import MemberChange, MemberView, NewMember
from stead.control.outbox.events import About, publish
from stead.control.teams import service as teams
from stead.shared.errors import AccountNotFound, FieldInvalid, RoleInsufficient
from stead.shared.ids import AccountId, TeamId, has_shape
from stead.shared.roles import Role


async def browse(tx: Tx, team: TeamId, page: PageRequest) -> Page[MemberView]:
    return await store.page(tx, team, page)


async def active_role(tx: Tx, team: TeamId, account: AccountId) -> Role | None:
    membership = await store.find(tx, team, account)
    return None if membership is None or membership.has_expired(tx.now) else membership.role


async def lock_membership(tx: Tx, team_id: str, account: AccountId) -> bool:
    """Lock the team. False if the account is not an active member."""
    if not has_shape("team", team_id) or await active_role(tx, TeamId(team_id), account) is None:
        return False
    await teams.lock(tx, TeamId(team_id))
    return await active_role(tx, TeamId(team_id), account) is not None


async def add(tx: Tx, team: TeamId, caller: Principal, new: NewMember) -> None:
    require_role_at_least(await lock_role(tx, team, caller), new.role)
    if not has_shape("client", new.client_id) or not await store.account_exists(tx, new.client_id):
        raise AccountNotFound
    await join(tx, team, new.client_id, new.role, new.expires_at)


async def join(tx: Tx, team: TeamId, account: str, role: Role, expires_at: datetime | None) -> None:
    """Add a member to a locked team. An expired membership of the same account is replaced."""
    _require_future(tx, expires_at)
    former = await store.find(tx, team, account)
    if former is not None and not former.has_expired(tx.now):
        raise MemberExists
    if former is not None:
        await store.delete(tx, team, account)
    await store.insert(tx, team, account, role, expires_at)
    await publish(tx, TEAM_MEMBER_ADDED, About(team_id=team), client_id=account, role=role)


async def update(tx: Tx, team: TeamId, caller: Principal, account: str, change: MemberChange) -> None:
    member = await _lock_member(tx, team, caller, account, change.role)
    expires_at = member.expires_at if change.expires_at is UNSET else change.expires_at
    if change.expires_at is not UNSET:
        _require_future(tx, expires_at)
    await store.update(tx, team, account, change.role, expires_at)
    await _require_owner(tx, team)
    await invalidate_cached_principals(tx, account)
    await publish(tx, TEAM_MEMBER_CHANGED, About(team_id=team), client_id=account, role=change.role)


async def remove(tx: Tx, team: TeamId, caller: Principal, account: str) -> None:
    await _lock_member(tx, team, caller, account)
    await store.delete(tx, team, account)
    await _require_owner(tx, team)
    await invalidate_cached_principals(tx, account)
    await publish(tx, TEAM_MEMBER_REMOVED, About(team_id=team), client_id=account)


async def leave_all(tx: Tx, account: AccountId) -> None:
    """Remove an account from all its teams. Raises LastOwner if a team would be left without an owner."""
    own = await store.list_teams(tx, account)
    # All of them before the account, which is changed when it leaves its default team.
    for team in own:
        await teams.lock(tx, team)
    for team in own:
        await store.delete(tx, team, account)
        await _require_owner(tx, team)
        await publish(tx, TEAM_MEMBER_REMOVED, About(team_id=team), client_id=account)


async def _lock_member(tx: Tx, team: TeamId, caller: Principal, account: str, *new: Role) -> Membership:
    """Lock the team and return a member whose current and new role are not above that of the caller."""
    own_role = await lock_role(tx, team, caller)
    member = await store.find(tx, team, account) if has_shape("client", account) else None
    if member is None or member.has_expired(tx.now):
        raise MemberNotFound
    require_role_at_least(own_role, member.role, *new)
    return member


async def lock_role(tx: Tx, team: TeamId, caller: Principal) -> Role:
    """Lock the team and return the caller's role, which may have changed since the request was authorized."""
    await teams.lock(tx, team)
    role = await active_role(tx, team, caller.account_id)
    if role is None:
        raise RoleInsufficient(role="none")
    return role


async def _require_owner(tx: Tx, team: TeamId) -> None:
    if not await store.has_permanent_owner(tx, team):
        raise LastOwner


def _require_future(tx: Tx, expires_at: datetime | None) -> None:
    if expires_at is not None and expires_at <= tx.now:
        raise FieldInvalid(param="expires_at", reason="`expires_at` is in the past.")
