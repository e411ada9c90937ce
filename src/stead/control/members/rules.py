"""What a membership is and what may happen to it. No I/O."""

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

    def is_over(self, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now


def require_rank(mine: Role, *theirs: Role) -> None:
    """Nobody gives, takes or changes a role above their own."""
    if not all(mine.is_at_least(role) for role in theirs):
        raise RoleInsufficient(role=mine)


class MemberNotFound(NotFound):
    code = "member.not_found"
    message = "There is no such member in this team."
    remedy = "List the members with `GET /v1/teams/{team_id}/members`."


class MemberExists(Conflict):
    code = "member.exists"
    message = "This account already belongs to the team."
    remedy = "Change the member's role instead."


class LastOwner(Conflict):
    code = "team.last_owner"
    message = "A team always has an owner whose membership does not expire, and this is the last one."
    remedy = "Make somebody else an owner first, or delete the team."
