"""Rows of closed accounts."""

from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.shared.ids import AccountId

_OF_PERSON = ("sessions", "notifications", "notification_preferences", "notification_mailings", "sent_emails")
"""Tables with rows that concern only the person."""


async def close(tx: Tx, account: AccountId) -> None:
    await tx.run("update accounts set closed_at = $2 where id = $1 and closed_at is null", account, tx.now)
    await tx.run(
        "update webhook_endpoints set enabled = false, deleted_at = $2"
        " where account_id = $1 and deleted_at is null",
        account,
        tx.now,
    )


async def reopen(tx: Tx, account: AccountId) -> bool:
    """Returns False if it is not closed, or erased already."""
    changed = await tx.run(
        "update accounts set closed_at = null where id = $1 and closed_at is not null and erased_at is null",
        account,
    )
    return changed == 1


async def list_expired(tx: Tx, closed_before: datetime, limit: int) -> list[AccountId]:
    """Those whose sites are deleted."""
    return await tx.all(
        AccountId,
        "select a.id from accounts a where a.closed_at < $1 and a.erased_at is null"
        " and not exists (select from sites s where s.account_id = a.id and s.status <> 'deleted')"
        " order by a.closed_at limit $2 for update skip locked",
        closed_before,
        limit,
    )


async def erase(tx: Tx, account: AccountId, *, password_hash: str) -> None:
    await tx.run(
        "update accounts set email = id || '@closed.invalid', name = 'Closed account', password_hash = $2,"
        " billing_cc_email = null, default_team_id = null, erased_at = $3 where id = $1",
        account,
        password_hash,
        tx.now,
    )
    for table in _OF_PERSON:
        await tx.run(f"delete from {table} where account_id = $1", account)  # noqa: S608
