"""Use cases of accounts and sessions. Those that get a `Tx` run in the caller's transaction."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TypeVar

from msgspec import UNSET, UnsetType

from stead.control.accounts import password_checks, store, verification
from stead.control.accounts.passwords import hash_password, owner
from stead.control.accounts.rules import (
    MAX_LIFETIME,
    UNVERIFIED_LIFETIME,
    Account,
    EmailTaken,
    PasswordIncorrect,
    SessionNotFound,
    SignInClient,
    SignInRefused,
    TeamNotJoined,
    VisibleSession,
    normalize_email,
    session_expiry,
)
from stead.control.accounts.schema import (
    AccountChange,
    NewAccount,
    SessionSummaryView,
    SessionView,
)
from stead.control.engines.postgres import Tx, UniqueViolation
from stead.control.http.operations import Call
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import Principal, RateLimits
from stead.control.http.principal_cache import invalidate_cached_principals
from stead.control.members import service as members
from stead.control.sealing import Sealer
from stead.shared import scopes, secrets
from stead.shared.errors import AccountNotFound, AccountSuspended, CredentialRevoked, FieldInvalid
from stead.shared.ids import AccountId, SessionId, has_shape, new_id

T = TypeVar("T")

BATCH_SIZE = 1000
"""How many old rows one transaction deletes."""


async def sign_up(
    tx: Tx, new: NewAccount, password_hash: str, *, plan: str = "free", is_verified: bool = False
) -> Account:
    account = Account(
        id=AccountId(new_id("client")),
        email=normalize_email(new.email),
        name=new.name,
        password_hash=password_hash,
        plan=plan,
        default_team_id=None,
        email_verified_at=tx.now if is_verified else None,
    )
    if not await store.insert(tx, account):
        raise EmailTaken
    return account


async def is_known_network(tx: Tx, email: str, network: str) -> bool:
    """Whether somebody has signed in to the account from this network in the last weeks."""
    return await store.has_signed_in_from(tx, normalize_email(email), network)


async def find_by_email(tx: Tx, email: str) -> Account | None:
    return await store.by_email(tx, normalize_email(email))


async def sign_in(tx: Tx, account: Account | None, client: SignInClient) -> SessionView:
    """For an account whose password was checked."""
    if account is None or not await password_checks.accept(tx, account):
        raise SignInRefused
    secret = secrets.mint("stead_session")
    session = SessionId(new_id("sess"))
    await store.insert_session(tx, account.id, session, secret.hash, client)
    return SessionView(
        id=session,
        token=secret.text,
        account_id=account.id,
        expires_at=session_expiry(tx.now, tx.now),
        created_at=tx.now,
    )


async def sign_out(tx: Tx, caller: Principal) -> None:
    await store.revoke_session(tx, caller.account_id, caller.id)
    await invalidate_cached_principals(tx, caller.id)


async def visible_session(call: Call, session_id: str) -> VisibleSession:
    is_id = has_shape("sess", session_id)
    session = await store.find_session(call.tx, call.caller, session_id) if is_id else None
    if session is None:
        raise SessionNotFound
    return session


async def browse_sessions(tx: Tx, caller: Principal, page: PageRequest) -> Page[SessionSummaryView]:
    return await store.page_of_sessions(tx, caller, page)


async def revoke_session(tx: Tx, session: VisibleSession) -> None:
    await store.revoke_session(tx, session.account_id, session.id)
    await invalidate_cached_principals(tx, session.id)


async def principal_of_session(tx: Tx, secret_hash: bytes) -> Principal | None:
    row = await store.session_principal(tx, secret_hash)
    if row is None:
        return None
    if row.revoked_at is not None or row.account.is_closed:
        raise CredentialRevoked
    if row.account.is_suspended:
        raise AccountSuspended
    return Principal(
        kind="session",
        id=row.id,
        account_id=row.account_id,
        email=row.account.email,
        scopes=(scopes.EVERYTHING,),
        allowed=scopes.CATALOG,
        mode="live",
        pin=None,
        networks=(),
        expires_at=session_expiry(row.created_at, row.last_used_at),
        limits=row.account.limits,
        ceiling_owner=row.account.ceiling_owner,
        signed_in_at=row.created_at,
    )


def owner_principal(account: Account) -> Principal:
    """The owner of the account without a credential, for commands that an operator runs on the machine."""
    return Principal(
        kind="session",
        id=account.id,
        account_id=account.id,
        email=account.email,
        scopes=(scopes.EVERYTHING,),
        allowed=scopes.CATALOG,
        mode="live",
        pin=None,
        networks=(),
        expires_at=datetime.max.replace(tzinfo=UTC),
        limits=RateLimits(read=1, write=1, create=1, ceiling=1),
        ceiling_owner=account.id,
    )


async def find(tx: Tx, account: AccountId) -> Account | None:
    return await store.get(tx, account)


async def get(tx: Tx, caller: Principal) -> Account:
    account = await store.get(tx, caller.account_id)
    if account is None:
        raise AccountNotFound
    return account


async def find_to_update(tx: Tx, caller: Principal, change: AccountChange) -> Account:
    if needs_password(change) and _none_if_unset(change.current_password) is None:
        reason = "A new email address or password requires `current_password`."
        raise FieldInvalid(param="current_password", reason=reason)
    return await get(tx, caller)


def needs_password(change: AccountChange) -> bool:
    return change.new_email is not UNSET or change.new_password is not UNSET


async def check_change(account: Account, change: AccountChange) -> str | None:
    """Check the password outside of transactions, and return the hash of a new one."""
    if not needs_password(change):
        return None
    current, source = _none_if_unset(change.current_password) or "", owner(account.id)
    if await password_checks.check(account, current, source) is None:
        raise PasswordIncorrect
    new = _none_if_unset(change.new_password)
    return await hash_password(new, source) if new is not None else None


async def update(
    tx: Tx,
    sealer: Sealer,
    caller: Principal,
    account: Account,
    change: AccountChange,
    new_hash: str | None,
    *,
    verifies_email: bool,
) -> None:
    """`account` is what was read before the password was checked."""
    owner = account.id
    if change.default_team_id is not UNSET:
        await _change_default_team(tx, owner, change.default_team_id)
    # After the teams: everything locks them before the account.
    if needs_password(change) and not await password_checks.accept(tx, account):
        raise PasswordIncorrect
    if (name := _none_if_unset(change.name)) is not None:
        await store.set_name(tx, owner, name)
    if change.billing_cc_email is not UNSET:
        await store.set_billing_cc(tx, owner, change.billing_cc_email)
    if new_hash is not None:
        await store.set_password(tx, owner, new_hash)
        # Somebody who knew the old password may have asked for another address.
        await store.delete_address_changes(tx, owner)
        await store.delete_resets(tx, owner)
        ended = await store.revoke_sessions(tx, owner, except_for=caller.id)
        await invalidate_cached_principals(tx, *ended)
    if (email := _none_if_unset(change.new_email)) is not None:
        await _change_email(tx, sealer, caller, normalize_email(email), verifies_email=verifies_email)


async def _change_default_team(tx: Tx, owner: AccountId, team: str | None) -> None:
    if team is not None and not await members.lock_membership(tx, team, owner):
        raise TeamNotJoined
    await store.set_default_team(tx, owner, team)
    await invalidate_cached_principals(tx, owner)


async def _change_email(
    tx: Tx, sealer: Sealer, caller: Principal, email: str, *, verifies_email: bool
) -> None:
    """The address changes when it has been confirmed; at once if addresses are not verified."""
    owner = caller.account_id
    if verifies_email:
        await verification.send(tx, sealer, await get(tx, caller), email)
        return
    try:
        await store.set_verified_email(tx, owner, email)
    except UniqueViolation:
        raise EmailTaken from None
    await invalidate_cached_principals(tx, owner)


def _none_if_unset(value: T | UnsetType) -> T | None:
    return None if isinstance(value, UnsetType) else value


async def record_use(tx: Tx, used: Mapping[str, float]) -> None:
    times = [datetime.fromtimestamp(at, UTC) for at in used.values()]
    await store.record_session_use(tx, list(used), times)


async def delete_old_sessions(tx: Tx) -> int:
    """Delete a batch of sessions and links that are no longer valid. Returns how many."""
    links = await store.delete_expired_verifications(tx, BATCH_SIZE)
    links += await store.delete_expired_resets(tx, BATCH_SIZE)
    links += await store.delete_expired_sign_ups(tx, BATCH_SIZE)
    return links + await store.delete_sessions(tx, tx.now - 2 * MAX_LIFETIME, BATCH_SIZE)


async def delete_unverified_accounts(tx: Tx) -> int:
    """Delete a batch of unused accounts that were never verified. Returns how many.

    Otherwise, whoever signs up with an address of somebody else keeps it from them.
    """
    unused = await store.lock_unverified(tx, tx.now - UNVERIFIED_LIFETIME, BATCH_SIZE)
    return await store.delete_unused(tx, unused)
