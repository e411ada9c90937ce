"""HTTP operations on the caller's account and session."""

from stead.control.accounts import service
from stead.control.accounts.rules import (
    EmailTaken,
    PasswordIncorrect,
    SignInRefused,
    TeamNotJoined,
    normal_email,
)
from stead.control.accounts.schema import (
    AccountChange,
    AccountView,
    NewAccount,
    SessionView,
    SignedUpView,
    SignIn,
)
from stead.control.accounts.throttle import place, slow_down_passwords, slow_down_sign_up
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
    """Open an account.

    Sign in afterwards with `POST /v1/sessions`.
    """
    await slow_down_sign_up(call)
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
    """Sign in as a human.

    The token is a Bearer credential with every scope. It ends 12 hours after its last use, 30 days after
    sign-in at the latest. Attempts are limited per address and per account.
    """
    await slow_down_passwords(call.limiter, body.email, place(call.address))
    session = await service.sign_in(call.tx, body)
    call.audit.actor = Actor("member", AccountId(session.account_id), normal_email(body.email))
    call.audit.note(session_id=session.id)
    return session


@operation("DELETE /v1/sessions/current", id="sessions.revoke", scope=ANY_CREDENTIAL)
async def sign_out(call: Call) -> None:
    """End the session that makes this request.

    With an API key there is no session to end, and nothing happens: revoke a key under `/v1/api-keys`.
    """
    if call.caller.kind == "session":
        await service.sign_out(call.tx, call.caller)


@operation("GET /v1/account", id="account.get", scope="account:read", errors=[AccountNotFound])
async def get_account(call: Call) -> AccountView:
    """Read the account, and what this credential may do."""
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

    A new email address or password needs `current_password`. A new password ends every other session.
    """
    if body.current_password:
        await slow_down_passwords(call.limiter, call.caller.account_id, call.caller.account_id)
    await service.change(call.tx, call.caller, body)
