"""Queries about accounts for operators."""

from dataclasses import dataclass
from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.shared.ids import AccountId


@dataclass(frozen=True, slots=True)
class AccountSummary:
    id: AccountId
    email: str
    name: str
    plan: str
    is_verified: bool
    created_at: datetime
    closed_at: datetime | None
    erased_at: datetime | None
    suspended_at: datetime | None
    suspension_reason: str | None
    sites: int
    keys: int
    last_used_at: datetime | None


_SUMMARY = """
  select a.id, a.email, a.name, a.plan, a.email_verified_at is not null, a.created_at, a.closed_at,
    a.erased_at, a.suspended_at, a.suspension_reason,
    (select count(*) from sites s where s.account_id = a.id and s.status <> 'deleted'),
    (select count(*) from api_keys k where k.account_id = a.id and k.revoked_at is null
      and k.expires_at > $1),
    (select max(last_used_at) from (select last_used_at from sessions where account_id = a.id
      union all select last_used_at from api_keys where account_id = a.id) used)
  from accounts a
"""


async def list_accounts(tx: Tx, query: str, limit: int) -> list[AccountSummary]:
    """Newest first. The query is a part of an address or a name."""
    return await tx.all(
        AccountSummary,
        f"{_SUMMARY} where $2::text = '' or strpos(lower(a.email), lower($2)) > 0"
        " or strpos(lower(a.name), lower($2)) > 0 order by a.id desc limit $3",
        *(tx.now, query, limit),
    )


async def get_summary(tx: Tx, account: AccountId) -> AccountSummary:
    found = await tx.one(AccountSummary, f"{_SUMMARY} where a.id = $2", tx.now, account)
    if found is None:
        raise LookupError(f"there is no account {account}")
    return found


async def list_sites(tx: Tx, account: AccountId, *, limit: int) -> list[tuple[str, str, str]]:
    """The id, the domain and the status of each."""
    return await tx.all(
        lambda *row: row,
        "select id, domain, status from sites where account_id = $1 order by id limit $2",
        account,
        limit,
    )


async def list_live_sites(tx: Tx, account: AccountId, *, after: str, limit: int) -> list[str]:
    return await tx.all(
        str,
        "select id from sites where account_id = $1 and mode = 'live' and status <> 'deleted' and id > $2"
        " order by id limit $3",
        *(account, after, limit),
    )


async def list_teams(tx: Tx, account: AccountId) -> list[tuple[str, str]]:
    return await tx.all(
        lambda *row: row, "select team_id, role from team_members where account_id = $1 order by 1", account
    )


async def list_credentials(tx: Tx, account: AccountId) -> list[str]:
    """The ids of the sessions and keys that have not ended."""
    return await tx.all(
        str,
        "select id from sessions where account_id = $1 and revoked_at is null"
        " union all select id from api_keys where account_id = $1 and revoked_at is null",
        account,
    )


async def list_plans(tx: Tx) -> list[str]:
    return await tx.all(str, "select name from plans order by name")


async def set_plan(tx: Tx, account: AccountId, plan: str) -> None:
    await tx.run("update accounts set plan = $2 where id = $1", account, plan)


async def set_suspension(tx: Tx, account: AccountId, reason: str | None) -> None:
    """Without a reason, the account is not suspended any more."""
    await tx.run(
        "update accounts set suspended_at = case when $2::text is null then null"
        " else coalesce(suspended_at, $3) end, suspension_reason = $2 where id = $1",
        *(account, reason, tx.now),
    )
