"""HTTP operations on the caller's account and session."""

from stead.control.accounts import service
from stead.control.accounts.rules import (
    EmailTaken,
    PasswordIncorrect,
    SignInRefused,
    TeamNotJoined,
    normalize_email,
)
from stead.control.accounts.schema import (
    AccountChange,
    AccountView,
    NewAccount,
    SessionView,
    SignedUpView,
    SignIn,
)
from stead.control.accounts.throttle import limit_password_attempts, limit_sign_ups, network_of
from stead.control.http.operations import Call, Operations, PublicCall
from stead.control.http.requirements import ANY_CREDENTIAL, PUBLIC
from stead.control.outbox.audit import Actor
from stead.shared.errors import AccountNotFound, RateLimitExceeded
from stead.shared.ids import AccountId

operation = Operations(tag="Account")


@operation(
    "POST /v1/accounts",
    id="accounts.sign_up",
    scope=PUBLIC,
    status=201,
    errors=[EmailTaken, RateLimitExceeded],
)
async def sign_up(call: PublicCall, body: NewAccount) -> SignedUpView:
    """Create an account.

    Sign in afterwards with `POST /v1/sessions`.
    """
    await limit_sign_ups(call)
    account = await service.sign_up(call.tx, body)
    call.audit.actor = Actor("member", account.id, account.email)
    return SignedUpView(account.id, account.email, account.name)


@operation(
    "POST /v1/sessions",
    id="sessions.create",
    scope=PUBLIC,
    status=201,
    errors=[SignInRefused, RateLimitExceeded],
)
async def sign_in(call: PublicCall, body: SignIn) -> SessionView:
    """Sign in with email address and password.

    The token is a Bearer credential with all scopes. It expires 12 hours after its last use, and at the
    latest 30 days after sign-in. Attempts are rate limited per address and per account.
    """
    await limit_password_attempts(call.limiter, body.email, network_of(call.address))
    session = await service.sign_in(call.tx, body)
    call.audit.actor = Actor("member", AccountId(session.account_id), normalize_email(body.email))
    call.audit.note(session_id=session.id)
    return session


@operation("DELETE /v1/sessions/current", id="sessions.revoke", scope=ANY_CREDENTIAL)
async def sign_out(call: Call) -> None:
    """End the current session.

    With an API key, this does nothing: revoke a key with `DELETE /v1/api-keys/{key_id}`.
    """
    if call.caller.kind == "session":
        await service.sign_out(call.tx, call.caller)


@operation("GET /v1/account", id="account.get", scope="account:read", errors=[AccountNotFound])
async def get_account(call: Call) -> AccountView:
    """Read the account and the scopes of this credential."""
    account = await service.get(call.tx, call.caller)
    return AccountView(
        id=account.id,
        email=account.email,
        name=account.name,
        default_team_id=account.default_team_id,
        role="client",
        plan=account.plan,
        scopes=list(call.caller.scopes),
    )


@operation(
    "PATCH /v1/account",
    id="account.update",
    scope="account:write",
    account_wide=True,
    errors=[EmailTaken, PasswordIncorrect, TeamNotJoined],
)
async def update_account(call: Call, body: AccountChange) -> None:
    """Change the account.

    A new email address or password requires `current_password`. A new password ends all other sessions.
    """
    if body.current_password:
        await limit_password_attempts(call.limiter, call.caller.account_id, call.caller.account_id)
    await service.update(call.tx, call.caller, body)
