"""Accounts and sessions: types, expiry and errors. No I/O."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from stead.control.http.principal import AccountAttributes
from stead.shared.errors import Conflict, Forbidden, InvalidRequest, NotFound, Unauthenticated
from stead.shared.ids import AccountId, SessionId

IDLE_TIMEOUT = timedelta(hours=12)
MAX_LIFETIME = timedelta(days=30)
VERIFICATION_LIFETIME = timedelta(days=1)
RESET_LIFETIME = timedelta(hours=1)
CLOSED_KEPT = timedelta(days=30)
"""How long a closed account can be opened again."""
SIGN_UPS_PER_ADDRESS = 20
"""Emails about sign-ups that an address gets in a day. After that it still gets one an hour: otherwise,
strangers could keep its owner from signing up."""
SIGN_UPS_PER_ADDRESS_AND_NETWORK = 5
SIGN_UP_PAUSE = timedelta(hours=1)
UNVERIFIED_LIFETIME = timedelta(days=7)
"""An account that is still unverified by then, and owns nothing, is deleted."""


@dataclass(frozen=True, slots=True)
class Account:
    id: AccountId
    email: str
    name: str
    password_hash: str
    plan: str
    default_team_id: str | None
    email_verified_at: datetime | None = None
    closed_at: datetime | None = None
    suspended_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SignInClient:
    """Where a sign-in comes from, shown in the list of sessions."""

    address: str
    network: str
    user_agent: str


@dataclass(frozen=True, slots=True)
class VisibleSession:
    """A session of the caller's account that has not ended."""

    id: SessionId
    account_id: AccountId


@dataclass(frozen=True, slots=True)
class Verification:
    account_id: AccountId
    email: str


@dataclass(frozen=True, slots=True)
class SignUp:
    """An account that will exist once its address is confirmed."""

    account_id: AccountId
    email: str
    name: str
    password_hash: str


@dataclass(frozen=True, slots=True)
class SignUpCount:
    """How many emails about sign-ups an address was sent in a day."""

    total: int
    from_network: int
    newest_at: datetime | None

    def allows_another(self, now: datetime) -> bool:
        if self.from_network >= SIGN_UPS_PER_ADDRESS_AND_NETWORK:
            return False
        is_recent = self.newest_at is not None and self.newest_at > now - SIGN_UP_PAUSE
        return self.total < SIGN_UPS_PER_ADDRESS or not is_recent


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


class EmailUnverified(Forbidden):
    code = "account.email_unverified"
    message = "The email address of the account is not verified."
    remedy = "Request an email with `POST /v1/account/verification`, and confirm with the token in it."


class VerificationNotFound(NotFound):
    code = "verification.not_found"
    message = "The token is wrong, was used, or has expired."
    remedy = "Request another email with `POST /v1/account/verification`."


class ResetNotFound(NotFound):
    code = "password_reset.not_found"
    message = "The token is wrong, was used, or has expired."
    remedy = "Request another email with `POST /v1/password-resets`."


class SessionNotFound(NotFound):
    code = "session.not_found"
    message = "The session does not exist or has ended."
    remedy = "List your sessions with `GET /v1/sessions`."
