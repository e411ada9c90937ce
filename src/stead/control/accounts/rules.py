"""What an account and a session are. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from stead.control.http.principal import AccountAttributes
from stead.shared.errors import Conflict, Forbidden, InvalidRequest, Unauthenticated
from stead.shared.ids import AccountId

IDLE = timedelta(hours=12)
LONGEST = timedelta(days=30)


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


def session_end(created_at: datetime, last_used_at: datetime) -> datetime:
    """A session slides with its use, but not for ever."""
    return min(last_used_at + IDLE, created_at + LONGEST)


def normal_email(email: str) -> str:
    return email.strip().lower()


class EmailTaken(Conflict):
    code = "account.email_taken"
    message = "There is already an account with this email address."
    remedy = "Sign in with it, or use another address."


class SignInRefused(Unauthenticated):
    code = "auth.sign_in_refused"
    message = "The email address or the password is not right."
    remedy = "Try again with the right pair. For an unknown address the answer is the same."


class PasswordIncorrect(Forbidden):
    code = "account.password_incorrect"
    message = "`current_password` is not the password of this account."
    remedy = "Send the password that the account has now."


class TeamNotJoined(InvalidRequest):
    status = 422
    code = "account.team_not_joined"
    message = "The account does not belong to this team."
    remedy = "Choose one of the teams that `GET /v1/teams` lists."
