"""HTTP operations on the caller's account and session. Passwords are hashed between two transactions."""

from functools import partial

from stead.control.accounts import closing, password_checks, password_resets, service, sign_ups, verification
from stead.control.accounts.passwords import hash_password, owner, stranger
from stead.control.accounts.rules import (
    Account,
    EmailTaken,
    PasswordIncorrect,
    ResetNotFound,
    SessionNotFound,
    SignInClient,
    SignInRefused,
    TeamNotJoined,
    VerificationNotFound,
    VisibleSession,
    normalize_email,
)
from stead.control.accounts.schema import (
    AccountChange,
    AccountClosure,
    AccountView,
    ClosedAccountView,
    EmailVerification,
    NewAccount,
    NewPasswordReset,
    PasswordResetConfirmation,
    SessionSummaryView,
    SessionView,
    SignedUpView,
    SignIn,
)
from stead.control.accounts.throttle import (
    limit_password_attempts,
    limit_password_resets,
    limit_sign_ups,
    limit_verifications,
)
from stead.control.engines.postgres import Tx
from stead.control.http.client_address import network_of
from stead.control.http.operations import Call, Later, Operations, PublicCall
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.requirements import ANY_CREDENTIAL, PUBLIC
from stead.control.members.rules import LastOwner
from stead.control.outbox.audit import Actor
from stead.control.outbox.mail_limits import EmailsExhausted
from stead.shared.errors import AccountNotFound, AccountSuspended, RateLimitExceeded
from stead.shared.ids import AccountId

operation = Operations(tag="Account")

MAX_USER_AGENT = 200


@operation(
    "POST /v1/accounts",
    id="accounts.sign_up",
    scope=PUBLIC,
    status=201,
    errors=[EmailTaken, RateLimitExceeded],
)
async def sign_up(call: PublicCall, body: NewAccount) -> Later[SignedUpView]:
    """Sign up for an account.

    An email with a token is sent to the address. The account exists when the token was sent to
    `POST /v1/accounts/verify-email`; then sign in with `POST /v1/sessions`. The response is the same if the
    address has an account already: its owner gets an email about it. Installations that do not verify
    addresses create the account at once, and refuse an address that has one.
    """
    await limit_sign_ups(call)

    async def create(tx: Tx, password_hash: str) -> SignedUpView:
        if call.context.verifies_email:
            wanted = await sign_ups.request(tx, call.sealer, body, password_hash, network_of(call.address))
            return SignedUpView(wanted.account_id, wanted.email, wanted.name)
        account = await service.sign_up(tx, body, password_hash, is_verified=True)
        call.audit.actor = Actor("member", account.id, account.email)
        return SignedUpView(account.id, account.email, account.name)

    return Later(partial(hash_password, body.password, stranger(call.address)), create)


@operation(
    "POST /v1/accounts/verify-email",
    id="accounts.verify_email",
    scope=PUBLIC,
    errors=[VerificationNotFound, EmailTaken, RateLimitExceeded],
)
async def verify_email(call: PublicCall, body: EmailVerification) -> Later[None]:
    """Confirm an email address with the token that was sent to it.

    If the token was sent because of a sign-up, the account exists from now on; `password` must be the one of
    the sign-up. If it was sent because of `new_email`, the account has the new address.
    """
    await limit_verifications(call)
    found = await sign_ups.find(call.tx, body.token)

    async def check() -> None:
        if found is not None:
            await sign_ups.check(found, body.password, stranger(call.address))

    async def confirm(tx: Tx, _: None) -> None:
        account = await sign_ups.confirm(tx, body.token, found) if found is not None else None
        if account is None:
            account = await verification.confirm(tx, call.sealer, body.token)
        call.audit.actor = Actor("member", account.id, account.email)

    return Later(check, confirm)


@operation(
    "POST /v1/account/verification",
    id="account.send_verification",
    scope="account:write",
    account_wide=True,
    errors=[EmailsExhausted],
)
async def send_verification(call: Call) -> None:
    """Send the email for verifying the address of the account again.

    Nothing is sent if the address is verified already.
    """
    account = await service.get(call.tx, call.caller)
    if account.email_verified_at is None:
        await verification.send(call.tx, call.sealer, account, account.email)


@operation(
    "POST /v1/password-resets",
    id="password_resets.create",
    scope=PUBLIC,
    errors=[RateLimitExceeded],
)
async def request_password_reset(call: PublicCall, body: NewPasswordReset) -> None:
    """Send an email with a token for a new password to the address of an account.

    The response is the same whether there is such an account or not. Only verified addresses get the email.
    The token is valid for an hour, once; a newer one replaces it.
    """
    await limit_password_resets(call, body.email)
    await password_resets.request(call.tx, body.email)


@operation(
    "POST /v1/password-resets/confirm",
    id="password_resets.confirm",
    scope=PUBLIC,
    errors=[ResetNotFound, RateLimitExceeded],
)
async def confirm_password_reset(call: PublicCall, body: PasswordResetConfirmation) -> Later[None]:
    """Choose a new password with the token from the email. All sessions of the account end.

    API keys stay valid. Revoke those that somebody else may know.
    """
    await limit_verifications(call)
    await password_resets.require_token(call.tx, body.token)

    async def confirm(tx: Tx, password_hash: str) -> None:
        account = await password_resets.confirm(tx, call.sealer, body.token, password_hash)
        call.audit.actor = Actor("member", account.id, account.email)

    return Later(partial(hash_password, body.new_password, stranger(call.address)), confirm)


@operation(
    "POST /v1/sessions",
    id="sessions.create",
    scope=PUBLIC,
    status=201,
    errors=[SignInRefused, AccountSuspended, RateLimitExceeded],
)
async def sign_in(call: PublicCall, body: SignIn) -> Later[SessionView]:
    """Sign in with email address and password.

    The token is a Bearer credential with all scopes. It expires 12 hours after its last use, and at the
    latest 30 days after sign-in. Attempts are rate limited per address and account, and more so from
    addresses that have never signed in to the account.
    """
    network = network_of(call.address)
    is_known = await service.is_known_network(call.tx, body.email, network)
    await limit_password_attempts(call.limiter, body.email, network, is_known_network=is_known)
    account = await service.find_by_email(call.tx, body.email)
    source = password_checks.source_of(account if is_known else None, call.address)
    user_agent = call.request.header(b"user-agent")[:MAX_USER_AGENT]

    async def create(tx: Tx, checked: Account | None) -> SessionView:
        session = await service.sign_in(tx, checked, SignInClient(str(call.address), network, user_agent))
        call.audit.actor = Actor("member", AccountId(session.account_id), normalize_email(body.email))
        call.audit.note(session_id=session.id)
        return session

    return Later(partial(password_checks.check, account, body.password, source), create)


@operation(
    "DELETE /v1/sessions/current",
    id="sessions.revoke",
    scope=ANY_CREDENTIAL,
    test_keys=True,
    destructive="reversible",
)
async def sign_out(call: Call) -> None:
    """End the current session.

    With an API key, this does nothing: revoke a key with `DELETE /v1/api-keys/{key_id}`.
    """
    if call.caller.kind == "session":
        await service.sign_out(call.tx, call.caller)


@operation("GET /v1/sessions", id="sessions.list", scope="account:read", account_wide=True, test_keys=False)
async def list_sessions(call: Call, page: PageRequest) -> Page[SessionSummaryView]:
    """List the sessions of the account that have not ended, newest first."""
    return await service.browse_sessions(call.tx, call.caller, page)


@operation(
    "DELETE /v1/sessions/{session_id}",
    id="sessions.revoke_one",
    destructive="reversible",
    scope="account:write",
    account_wide=True,
    errors=[SessionNotFound],
)
async def revoke_session(call: Call, session: VisibleSession) -> None:
    """End a session. Its token stops working immediately."""
    await service.revoke_session(call.tx, session)


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
    "DELETE /v1/account",
    id="account.close",
    recent_sign_in=True,
    scope="account:admin",
    account_wide=True,
    errors=[PasswordIncorrect, LastOwner],
)
async def close_account(call: Call, body: AccountClosure) -> Later[ClosedAccountView]:
    """Close the account.

    All sessions and API keys end at once, the account leaves its teams, and its own sites are deleted. Sites
    of teams stay. For thirty days, the operator can open the account again, and the sites can be recovered
    then. After that, the content of the sites and the personal data of the account are erased.
    """
    await limit_password_attempts(call.limiter, call.caller.account_id, call.caller.account_id)
    account = await service.get(call.tx, call.caller)

    async def close(tx: Tx, checked: Account | None) -> ClosedAccountView:
        return await closing.close(tx, call.sealer, checked)

    return Later(partial(password_checks.check, account, body.current_password, owner(account.id)), close)


@operation(
    "PATCH /v1/account",
    id="account.update",
    recent_sign_in=True,
    scope="account:write",
    account_wide=True,
    errors=[EmailTaken, PasswordIncorrect, TeamNotJoined, EmailsExhausted],
)
async def update_account(call: Call, body: AccountChange) -> Later[None]:
    """Change the account.

    A new email address or password requires `current_password`. A token is sent to a new address, which
    replaces the current one when it is confirmed. The response is the same if another account has the
    address: its owner gets an email about it. A new password ends all other sessions.
    """
    if service.needs_password(body):
        await limit_password_attempts(call.limiter, call.caller.account_id, call.caller.account_id)
    account = await service.find_to_update(call.tx, call.caller, body)

    async def update(tx: Tx, new_hash: str | None) -> None:
        verifies = call.context.verifies_email
        await service.update(tx, call.sealer, call.caller, account, body, new_hash, verifies_email=verifies)

    return Later(partial(service.check_change, account, body), update)
