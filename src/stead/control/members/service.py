"""Appointing, changing and dismissing the members of a team.

Whoever changes a team's members holds its lock, and only then looks at roles: so no two changes that are each
allowed can together leave a team without an owner.
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
    require_rank,
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
    return None if membership is None or membership.is_over(tx.now) else membership.role


async def stays(tx: Tx, team_id: str, account: AccountId) -> bool:
    """Whether the account belongs to the team, and will until this transaction has ended."""
    if not has_shape("team", team_id) or await active_role(tx, TeamId(team_id), account) is None:
        return False
    await teams.lock(tx, TeamId(team_id))
    return await active_role(tx, TeamId(team_id), account) is not None


async def appoint(tx: Tx, team: TeamId, caller: Principal, new: NewMember) -> None:
    require_rank(await locked_role(tx, team, caller), new.role)
    if not has_shape("client", new.client_id) or not await store.account_exists(tx, new.client_id):
        raise AccountNotFound
    await join(tx, team, new.client_id, new.role, new.expires_at)


async def join(tx: Tx, team: TeamId, account: str, role: Role, expires_at: datetime | None) -> None:
    """Enter a team whose lock is held. Who was in it before and expired enters anew."""
    _require_future(tx, expires_at)
    former = await store.find(tx, team, account)
    if former is not None and not former.is_over(tx.now):
        raise MemberExists
    if former is not None:
        await store.delete(tx, team, account)
    await store.insert(tx, team, account, role, expires_at)
    await publish(tx, TEAM_MEMBER_ADDED, About(team_id=team), client_id=account, role=role)


async def change(tx: Tx, team: TeamId, caller: Principal, account: str, wanted: MemberChange) -> None:
    member = await _changeable(tx, team, caller, account, wanted.role)
    expires_at = member.expires_at if wanted.expires_at is UNSET else wanted.expires_at
    if wanted.expires_at is not UNSET:
        _require_future(tx, expires_at)
    await store.change(tx, team, account, wanted.role, expires_at)
    await _require_owner(tx, team)
    await publish(tx, TEAM_MEMBER_CHANGED, About(team_id=team), client_id=account, role=wanted.role)


async def dismiss(tx: Tx, team: TeamId, caller: Principal, account: str) -> None:
    await _changeable(tx, team, caller, account)
    await store.delete(tx, team, account)
    await _require_owner(tx, team)
    await invalidate_cached_principals(tx, account)
    await publish(tx, TEAM_MEMBER_REMOVED, About(team_id=team), client_id=account)


async def _changeable(tx: Tx, team: TeamId, caller: Principal, account: str, *wanted: Role) -> Membership:
    mine = await locked_role(tx, team, caller)
    member = await store.find(tx, team, account) if has_shape("client", account) else None
    if member is None or member.is_over(tx.now):
        raise MemberNotFound
    require_rank(mine, member.role, *wanted)
    return member


async def locked_role(tx: Tx, team: TeamId, caller: Principal) -> Role:
    """The caller's role, read under the team's lock: it may have changed since the request was let in."""
    await teams.lock(tx, team)
    role = await active_role(tx, team, caller.account_id)
    if role is None:
        raise RoleInsufficient(role="none")
    return role


async def _require_owner(tx: Tx, team: TeamId) -> None:
    if not await store.has_lasting_owner(tx, team):
        raise LastOwner


def _require_future(tx: Tx, expires_at: datetime | None) -> None:
    if expires_at is not None and expires_at <= tx.now:
        raise FieldInvalid(param="expires_at", reason="`expires_at` is in the past.")
