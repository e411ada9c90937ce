"""Accounts and sessions: types, expiry and errors. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from stead.control.http.principal import AccountAttributes
from stead.shared.errors import Conflict, Forbidden, InvalidRequest, Unauthenticated
from stead.shared.ids import AccountId

IDLE_TIMEOUT = timedelta(hours=12)
MAX_LIFETIME = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class Account:
    id: AccountId
    email: str
    name: str
    password_hash: str
    plan: str
    default_team_id: str | None


@dataclass(frozen=True, slots=True)
class SessionRow:
    id: str
    account_id: AccountId
    created_at: datetime
    last_used_at: datetime
    revoked_at: datetime | None
    account: AccountAttributes


def session_expiry(created_at: datetime, last_used_at: datetime) -> datetime:
    """Each use extends a session, up to its maximum lifetime."""
    return min(last_used_at + IDLE_TIMEOUT, created_at + MAX_LIFETIME)


def normalize_email(email: str) -> str:
    return email.strip().lower()


class EmailTaken(Conflict):
    code = "account.email_taken"
    message = "An account with this email address already exists."
    remedy = "Sign in to this account, or use another email address."


class SignInRefused(Unauthenticated):
    code = "auth.sign_in_refused"
    message = "The email address or the password is incorrect."
    remedy = "Check both and try again. An unknown address and a wrong password get the same response."


class PasswordIncorrect(Forbidden):
    code = "account.password_incorrect"
    message = "`current_password` is not the password of this account."
    remedy = "Send the current password of the account."


class TeamNotJoined(InvalidRequest):
    status = 422
    code = "account.team_not_joined"
    message = "The account is not a member of this team."
    remedy = "Choose one of the teams that `GET /v1/teams` lists."
