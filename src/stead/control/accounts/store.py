"""Rows of accounts and sessions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from stead.control.accounts.rules import IDLE_TIMEOUT, Account, SessionRow
from stead.control.engines.postgres import Tx
from stead.control.http.principal import ACCOUNT_COLUMNS, ACCOUNT_JOINS, AccountAttributes
from stead.shared.ids import AccountId, SessionId

_ACCOUNT = "id, email, name, password_hash, plan, default_team_id"


async def insert(tx: Tx, account: Account) -> bool:
    """False if another account has the email address."""
    inserted = await tx.run(
        "insert into accounts (id, email, name, password_hash, plan, default_team_id, created_at)"
        " values ($1, $2, $3, $4, $5, $6, $7) on conflict (lower(email)) do nothing",
        account.id,
        account.email,
        account.name,
        account.password_hash,
        account.plan,
        account.default_team_id,
        tx.now,
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


async def set_email(tx: Tx, owner: AccountId, email: str) -> None:
    await tx.run("update accounts set email = $2 where id = $1", owner, email)


async def set_password(tx: Tx, owner: AccountId, password_hash: str) -> None:
    await tx.run("update accounts set password_hash = $2 where id = $1", owner, password_hash)


async def insert_session(tx: Tx, owner: AccountId, session: SessionId, secret_hash: bytes) -> None:
    await tx.run(
        "insert into sessions (id, account_id, secret_hash, created_at, last_used_at)"
        " values ($1, $2, $3, $4, $4)",
        session,
        owner,
        secret_hash,
        tx.now,
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


async def delete_sessions(tx: Tx, before: datetime) -> int:
    return await tx.run("delete from sessions where created_at < $1", before)


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
