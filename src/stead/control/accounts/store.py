"""Rows of accounts and sessions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from stead.control.accounts.rules import (
    IDLE_TIMEOUT,
    MAX_LIFETIME,
    RESET_LIFETIME,
    VERIFICATION_LIFETIME,
    Account,
    SessionRow,
    SignInClient,
    SignUp,
    SignUpCount,
    Verification,
    VisibleSession,
)
from stead.control.accounts.schema import SessionSummaryView
from stead.control.engines.postgres import Tx
from stead.control.http.pagination import Page, PageRequest
from stead.control.http.principal import ACCOUNT_COLUMNS, ACCOUNT_JOINS, AccountAttributes, Principal
from stead.shared.ids import AccountId, SessionId, lower_bound, new_id

_ACCOUNT = "id, email, name, password_hash, plan, default_team_id, email_verified_at, closed_at, suspended_at"


async def insert(tx: Tx, account: Account) -> bool:
    """False if another account has the email address."""
    inserted = await tx.run(
        "insert into accounts (id, email, name, password_hash, plan, default_team_id, created_at,"
        " email_verified_at) values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (lower(email)) do nothing",
        account.id,
        account.email,
        account.name,
        account.password_hash,
        account.plan,
        account.default_team_id,
        tx.now,
        account.email_verified_at,
    )
    return inserted == 1


async def by_email(tx: Tx, email: str) -> Account | None:
    return await tx.one(Account, f"select {_ACCOUNT} from accounts where lower(email) = $1", email)  # noqa: S608


async def get(tx: Tx, owner: AccountId) -> Account | None:
    return await tx.one(Account, f"select {_ACCOUNT} from accounts where id = $1", owner)  # noqa: S608


async def set_name(tx: Tx, owner: AccountId, name: str) -> None:
    await tx.run("update accounts set name = $2 where id = $1", owner, name)


async def set_default_team(tx: Tx, owner: AccountId, team: str | None) -> None:
    await tx.run("update accounts set default_team_id = $2 where id = $1", owner, team)


async def set_billing_cc(tx: Tx, owner: AccountId, email: str | None) -> None:
    await tx.run("update accounts set billing_cc_email = $2 where id = $1", owner, email)


async def set_verified_email(tx: Tx, owner: AccountId, email: str) -> None:
    await tx.run("update accounts set email = $2, email_verified_at = $3 where id = $1", owner, email, tx.now)


async def replace_verification(tx: Tx, owner: AccountId, email: str, token_hash: bytes) -> None:
    """Only the newest token of an account is valid."""
    await tx.run("delete from email_verifications where account_id = $1", owner)
    await tx.run(
        "insert into email_verifications (token_hash, account_id, email, created_at, expires_at)"
        " values ($1, $2, $3, $4, $5)",
        *(token_hash, owner, email, tx.now, tx.now + VERIFICATION_LIFETIME),
    )


async def use_verification(tx: Tx, token_hash: bytes) -> Verification | None:
    """Delete the verification and return it; None if the token is wrong or has expired. The account is locked
    first, as by everything else."""
    await tx.run(
        "select from accounts where id = (select account_id from email_verifications where token_hash = $1)"
        " for no key update",
        token_hash,
    )
    return await tx.one(
        Verification,
        "delete from email_verifications where token_hash = $1 and expires_at > $2"
        " returning account_id, email",
        token_hash,
        tx.now,
    )


async def delete_address_changes(tx: Tx, owner: AccountId) -> None:
    """Delete the verification of an address that the account does not have yet."""
    await tx.run(
        "delete from email_verifications v using accounts a"
        " where v.account_id = $1 and a.id = $1 and v.email <> a.email",
        owner,
    )


async def delete_expired_verifications(tx: Tx, limit: int) -> int:
    return await tx.run(
        "delete from email_verifications where token_hash in"
        " (select token_hash from email_verifications where expires_at < $1 limit $2)",
        tx.now,
        limit,
    )


async def count_sign_ups(tx: Tx, email: str, network: str, since: datetime) -> SignUpCount:
    """Others with the same address wait until the end of the transaction."""
    await tx.value("select pg_advisory_xact_lock(hashtext('accounts.sign_up'), hashtext($1))", email)
    found = await tx.one(
        SignUpCount,
        "select count(*), count(*) filter (where network = $2), max(created_at) from sign_ups"
        " where email = $1 and created_at > $3",
        *(email, network, since),
    )
    return found or SignUpCount(0, 0, None)


async def insert_sign_up(tx: Tx, new: SignUp, token_hash: bytes, network: str, *, usable: bool) -> None:
    await tx.run(
        "insert into sign_ups (token_hash, account_id, email, name, password_hash, usable, network,"
        " created_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
        *(token_hash, new.account_id, new.email, new.name, new.password_hash, usable, network),
        *(tx.now, tx.now + VERIFICATION_LIFETIME),
    )


async def find_sign_up(tx: Tx, token_hash: bytes) -> SignUp | None:
    """None if the token is wrong or has expired."""
    return await tx.one(
        SignUp,
        "select account_id, email, name, password_hash from sign_ups"
        " where token_hash = $1 and expires_at > $2 and usable",
        token_hash,
        tx.now,
    )


async def use_sign_up(tx: Tx, token_hash: bytes) -> bool:
    """Delete the sign-up; False if it was used meanwhile."""
    return await tx.run("delete from sign_ups where token_hash = $1", token_hash) == 1


async def delete_expired_sign_ups(tx: Tx, limit: int) -> int:
    return await tx.run(
        "delete from sign_ups where token_hash in"
        " (select token_hash from sign_ups where expires_at < $1 limit $2)",
        tx.now,
        limit,
    )


async def insert_reset_request(tx: Tx, email: str) -> None:
    await tx.run(
        "insert into password_reset_requests (id, email, created_at) values ($1, $2, $3)",
        *(new_id("reset"), email, tx.now),
    )


async def take_reset_requests(tx: Tx, limit: int) -> list[str]:
    """Delete the oldest requests and return their addresses."""
    return await tx.all(
        str,
        "delete from password_reset_requests where id in (select id from password_reset_requests"
        " order by id limit $1 for update skip locked) returning email",
        limit,
    )


async def replace_reset(tx: Tx, account: Account, token_hash: bytes) -> None:
    """Only the newest token of an account is valid."""
    await tx.run("delete from password_resets where account_id = $1", account.id)
    await tx.run(
        "insert into password_resets (token_hash, account_id, email, created_at, expires_at)"
        " values ($1, $2, $3, $4, $5)",
        *(token_hash, account.id, account.email, tx.now, tx.now + RESET_LIFETIME),
    )


async def use_reset(tx: Tx, token_hash: bytes) -> Account | None:
    """Delete the token and return its account; None if it is wrong, has expired, or was sent to an address
    that the account does not have any more. The account is locked first, as by everything else."""
    await tx.run(
        "select from accounts where id = (select account_id from password_resets where token_hash = $1)"
        " for no key update",
        token_hash,
    )
    owner = await tx.value(
        "delete from password_resets r using accounts a where r.token_hash = $1 and r.expires_at > $2"
        " and a.id = r.account_id and a.email = r.email returning r.account_id",
        token_hash,
        tx.now,
    )
    return await get(tx, owner) if owner is not None else None


async def has_reset(tx: Tx, token_hash: bytes) -> bool:
    found = await tx.value("select true from password_resets where token_hash = $1", token_hash)
    return found is not None


async def delete_resets(tx: Tx, owner: AccountId) -> None:
    await tx.run("delete from password_resets where account_id = $1", owner)


async def delete_expired_resets(tx: Tx, limit: int) -> int:
    return await tx.run(
        "delete from password_resets where token_hash in"
        " (select token_hash from password_resets where expires_at < $1 limit $2)",
        tx.now,
        limit,
    )


async def set_password(tx: Tx, owner: AccountId, password_hash: str) -> None:
    await tx.run("update accounts set password_hash = $2 where id = $1", owner, password_hash)


async def lock_unchanged(tx: Tx, account: Account) -> bool:
    """Keep others from changing the account. False if it has another password or address, or was closed or
    suspended."""
    locked = await tx.value(
        "select true from accounts where id = $1 and password_hash = $2 and email = $3"
        " and closed_at is null and suspended_at is null for no key update",
        *(account.id, account.password_hash, account.email),
    )
    return locked is not None


async def insert_session(
    tx: Tx, owner: AccountId, session: SessionId, secret_hash: bytes, client: SignInClient | None = None
) -> None:
    origin = (client.address, client.network, client.user_agent) if client else (None, None, None)
    await tx.run(
        "insert into sessions (id, account_id, secret_hash, created_at, last_used_at, address, network,"
        " user_agent) values ($1, $2, $3, $4, $4, $5, $6, $7)",
        *(session, owner, secret_hash, tx.now, *origin),
    )


_ACTIVE = (
    "account_id = $1 and revoked_at is null"
    " and least(last_used_at + $2::interval, created_at + $3::interval) > $4"
)


async def page_of_sessions(tx: Tx, caller: Principal, request: PageRequest) -> Page[SessionSummaryView]:
    return await request.fetch(
        tx,
        SessionSummaryView,
        "select id, id = $5, address, user_agent, created_at, last_used_at,"  # noqa: S608
        " least(last_used_at + $2::interval, created_at + $3::interval)"
        f" from sessions where {_ACTIVE} and id < $6 order by id desc limit $7",
        *(caller.account_id, IDLE_TIMEOUT, MAX_LIFETIME, tx.now, caller.id),
    )


async def find_session(tx: Tx, caller: Principal, session: str) -> VisibleSession | None:
    return await tx.one(
        VisibleSession,
        f"select id, account_id from sessions where {_ACTIVE} and id = $5",  # noqa: S608
        *(caller.account_id, IDLE_TIMEOUT, MAX_LIFETIME, tx.now, session),
    )


async def has_signed_in_from(tx: Tx, email: str, network: str) -> bool:
    return bool(
        await tx.value(
            "select exists (select from sessions s join accounts a on a.id = s.account_id"
            " where lower(a.email) = $1 and s.network = $2)",
            email,
            network,
        )
    )


async def revoke_sessions(tx: Tx, owner: AccountId, *, except_for: str | None) -> list[str]:
    """Revoke all sessions of the account except one, and return those that were revoked."""
    return await tx.all(
        str,
        "update sessions set revoked_at = $3 where account_id = $1 and revoked_at is null"
        " and id is distinct from $2 returning id",
        owner,
        except_for,
        tx.now,
    )


async def revoke_session(tx: Tx, owner: AccountId, session: str) -> None:
    await tx.run(
        "update sessions set revoked_at = $3 where account_id = $1 and id = $2", owner, session, tx.now
    )


async def record_session_use(tx: Tx, sessions: Sequence[str], times: Sequence[datetime]) -> None:
    """Record the last use of sessions. A session that has expired meanwhile is not extended."""
    await tx.run(
        "update sessions s set last_used_at = used.at"
        " from unnest($1::text[], $2::timestamptz[]) as used (id, at)"
        " where s.id = used.id and used.at between s.last_used_at and s.last_used_at + $3",
        sessions,
        times,
        IDLE_TIMEOUT,
    )


_UNUSED = (
    "not exists (select from sites where account_id = a.id)"
    " and not exists (select from projects where account_id = a.id)"
    " and not exists (select from team_members where account_id = a.id)"
    " and not exists (select from api_keys where account_id = a.id)"
    " and not exists (select from webhook_endpoints where account_id = a.id)"
    " and not exists (select from sessions where account_id = a.id and revoked_at is null"
    "  and last_used_at > $1)"
)
"""The account `a` owns nothing and is not signed in."""


async def lock_unverified(tx: Tx, created_before: datetime, limit: int) -> list[str]:
    """Lock accounts that were never verified and are unused. Nothing can be added to them until the end."""
    return await tx.all(
        str,
        f"select a.id from accounts a where a.email_verified_at is null and a.created_at < $2 and {_UNUSED}"  # noqa: S608
        " order by a.created_at limit $3 for update skip locked",
        *(tx.now - IDLE_TIMEOUT, created_before, limit),
    )


async def delete_unused(tx: Tx, accounts: Sequence[str]) -> int:
    """Delete those of the locked accounts that are unused.

    They are checked again: something may have been added between the check and the lock.
    """
    return await tx.run(
        f"delete from accounts a where a.id = any($2) and {_UNUSED}",  # noqa: S608
        *(tx.now - IDLE_TIMEOUT, accounts),
    )


async def delete_sessions(tx: Tx, before: datetime, limit: int) -> int:
    """Delete sessions that were created before then, which their ids say."""
    return await tx.run(
        "delete from sessions where id in (select id from sessions where id < $1 order by id limit $2)",
        lower_bound("sess", before),
        limit,
    )


def _session(*row: Any) -> SessionRow:
    values = [*row[:5], AccountAttributes.read(*row[5:])]
    return SessionRow(*values)


async def session_principal(tx: Tx, secret_hash: bytes) -> SessionRow | None:
    return await tx.one(
        _session,
        f"select s.id, s.account_id, s.created_at, s.last_used_at, s.revoked_at, {ACCOUNT_COLUMNS}"  # noqa: S608
        f" from sessions s join accounts a on a.id = s.account_id {ACCOUNT_JOINS} where s.secret_hash = $1",
        secret_hash,
        tx.now,
    )
