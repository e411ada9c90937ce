"""Invites: types and errors. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from stead.shared.errors import NotFound
from stead.shared.ids import AccountId, TeamId
from stead.shared.roles import Role

LIFETIME = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Invite:
    id: str
    team_id: TeamId
    role: Role
    email: str | None
    invited_by: AccountId
    expires_at: datetime
    created_at: datetime


class InviteNotFound(NotFound):
    code = "invite.not_found"
    message = "The invite does not exist, is for another account, or has expired."
    remedy = "Sign in with the invited email address, or ask for a new invite."
