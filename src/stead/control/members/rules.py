"""Memberships: types, rules and errors. No I/O."""

from dataclasses import dataclass
from datetime import datetime

from stead.shared.errors import Conflict, NotFound, RoleInsufficient
from stead.shared.ids import AccountId
from stead.shared.roles import Role


@dataclass(frozen=True, slots=True)
class Membership:
    account_id: AccountId
    role: Role
    expires_at: datetime | None

    def has_expired(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now


def require_role_at_least(mine: Role, *theirs: Role) -> None:
    """A member cannot grant, remove or change a role above their own."""
    if not all(mine.is_at_least(role) for role in theirs):
        raise RoleInsufficient(role=mine)


class MemberNotFound(NotFound):
    code = "member.not_found"
    message = "The team has no such member."
    remedy = "List the members with `GET /v1/teams/{team_id}/members`."


class MemberExists(Conflict):
    code = "member.exists"
    message = "The account is already a member of the team."
    remedy = "Change the role of the member instead."


class LastOwner(Conflict):
    code = "team.last_owner"
    message = "This is the last owner of the team whose membership does not expire."
    remedy = "Make another member an owner first, or delete the team."
