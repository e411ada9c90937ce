"""`steadctl accounts`: what operators do with accounts, on the machine and without the API."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from stead.control.accounts import administration_store as store
from stead.control.accounts import closing_store, password_resets
from stead.control.accounts import store as accounts
from stead.control.accounts.administration_store import AccountSummary
from stead.control.accounts.passwords import OPERATOR, hash_password
from stead.control.accounts.rules import CLOSED_KEPT, Account, normalize_email
from stead.control.builds.jobs import RUN
from stead.control.edge_feed import announcements
from stead.control.edge_feed.feed import EdgeFeed
from stead.control.engines.postgres import Database, Tx
from stead.control.http.principal_cache import invalidate_cached_principals
from stead.control.jobs import queue
from stead.control.outbox import audit
from stead.control.outbox.audit import Actor, AuditEntry
from stead.control.provisioning import connected_nats
from stead.control.settings import from_environment
from stead.shared.clock import wall_clock
from stead.shared.ids import AccountId

SITES_AT_ONCE = 200
CONNECT_SECONDS = 30.0
"""An operator waits longer for a connection to a busy database than a request of the API does."""


class UnknownAccount(Exception):
    def __init__(self, name: str) -> None:
        super().__init__(f"there is no account {name}")


class UnknownPlan(Exception):
    def __init__(self, plan: str, known: list[str]) -> None:
        super().__init__(f"there is no plan {plan}; use one of: {', '.join(known)}")


@asynccontextmanager
async def _transaction() -> AsyncIterator[Tx]:
    database = Database(from_environment().database_url, clock=wall_clock, timeout=CONNECT_SECONDS)
    try:
        async with database.transaction() as tx:
            yield tx
    finally:
        await database.close()


async def account_table(query: str, limit: int) -> str:
    """The newest accounts whose address or name contains a text, as a table for a terminal."""
    async with _transaction() as tx:
        found = await store.list_accounts(tx, query, limit)
    lines = [f"{'account':33} {'created':10} {'plan':12} {'sites':>5}  {'state':10} email"]
    lines += [
        f"{each.id:33} {each.created_at:%Y-%m-%d} {each.plan:12} {each.sites:>5}  {_state(each):10}"
        f" {each.email}"
        for each in found
    ]
    return "\n".join(lines)


async def describe_account(name: str) -> str:
    """Everything an operator needs to know about an account, one fact per line. Raises UnknownAccount."""
    async with _transaction() as tx:
        account = await _find(tx, name)
        found = await store.get_summary(tx, account.id)
        sites = await store.list_sites(tx, account.id, limit=SITES_AT_ONCE)
        teams = await store.list_teams(tx, account.id)
    facts = {
        "account": found.id,
        "email": f"{found.email} ({'verified' if found.is_verified else 'not verified'})",
        "name": found.name,
        "plan": found.plan,
        "state": _state(found),
        "created": f"{found.created_at:%Y-%m-%d %H:%M}",
        "last used": f"{found.last_used_at:%Y-%m-%d %H:%M}" if found.last_used_at else "never",
        "api keys": str(found.keys),
    }
    if found.suspension_reason:
        facts["suspended because"] = found.suspension_reason
    if found.closed_at:
        facts["erased on"] = f"{found.closed_at + CLOSED_KEPT:%Y-%m-%d}"
    lines = [f"{fact + ':':18} {value}" for fact, value in facts.items()]
    lines += [f"{'team:':18} {team} ({role})" for team, role in teams]
    lines += [f"{'site:':18} {site} {domain} ({status})" for site, domain, status in sites]
    return "\n".join(lines)


async def suspend_account(name: str, reason: str) -> int:
    """Refuse the credentials of an account, and answer visitors of its own sites with 503.

    Returns the number of sites. Raises UnknownAccount. Can be repeated.
    """
    return await _change_suspension(name, reason)


async def lift_suspension(name: str) -> int:
    """The opposite. Sites are served again as before."""
    return await _change_suspension(name, None)


async def reset_password(name: str) -> str:
    """Give an account a random password and end its sessions. Returns the password. Raises UnknownAccount."""
    password = secrets.token_urlsafe(18)
    password_hash = await hash_password(password, OPERATOR)
    async with _transaction() as tx:
        account = await _find(tx, name)
        await password_resets.replace_password(tx, account, password_hash)
        await _record(tx, account, "account_password_reset")
    return password


async def set_plan(name: str, plan: str) -> None:
    """Raises UnknownAccount and UnknownPlan."""
    async with _transaction() as tx:
        account = await _find(tx, name)
        known = await store.list_plans(tx)
        if plan not in known:
            raise UnknownPlan(plan, known)
        await store.set_plan(tx, account.id, plan)
        await invalidate_cached_principals(tx, account.id)
        await _record(tx, account, "account_plan_change", plan=plan)


async def reopen_account(name: str) -> bool:
    """Open a closed account again. Returns False if it is not closed, or erased already.

    Its sites can be recovered by its owner; its API keys and memberships have ended for good. Raises
    UnknownAccount.
    """
    async with _transaction() as tx:
        account = await _find(tx, name)
        is_open = await closing_store.reopen(tx, account.id)
        if is_open:
            await _record(tx, account, "account_reopen")
    return is_open


async def set_suspension(tx: Tx, name: str, reason: str | None) -> AccountId:
    """Suspend an account, or end its suspension without a reason. The edges are not told.

    Builds that are under way are cancelled, and others fail. Workers close the access by SSH.
    """
    account = await _find(tx, name)
    await store.set_suspension(tx, account.id, reason)
    await invalidate_cached_principals(tx, account.id, *await store.list_credentials(tx, account.id))
    if reason:
        await queue.cancel_under_way(tx, RUN.name, account.id)
    await _record(tx, account, "account_suspend" if reason else "account_unsuspend", reason=reason)
    return account.id


async def _change_suspension(name: str, reason: str | None) -> int:
    settings = from_environment()
    database = Database(settings.database_url, clock=wall_clock, timeout=CONNECT_SECONDS)
    try:
        async with connected_nats(settings) as nats_:
            async with database.transaction() as tx:
                account = await set_suspension(tx, name, reason)
            return await _announce_sites(database, EdgeFeed(nats_), account)
    finally:
        await database.close()


async def _announce_sites(database: Database, feed: EdgeFeed, account: AccountId) -> int:
    """Each site in a transaction of its own. Nothing waits for a server while one is open."""
    after, count = "", 0
    while True:
        async with database.reading() as tx:
            page = await store.list_live_sites(tx, account, after=after, limit=SITES_AT_ONCE)
        for site in page:
            async with database.transaction() as tx:
                announcement = await announcements.serve_site(tx, site)
            if announcement is not None:
                await feed.put(announcement.records, announcement.version)
        count += len(page)
        if len(page) < SITES_AT_ONCE:
            return count
        after = page[-1]


async def _find(tx: Tx, name: str) -> Account:
    """By its id or its address."""
    found = await accounts.get(tx, AccountId(name)) or await accounts.by_email(tx, normalize_email(name))
    if found is None:
        raise UnknownAccount(name)
    return found


async def _record(tx: Tx, account: Account, event: str, **facts: str | None) -> None:
    """In the audit trail of the account: by nobody that it knows."""
    entry = AuditEntry(Actor("system", account.id), meta=dict(facts))
    await audit.record(tx, event, "success", entry)


def _state(account: AccountSummary) -> str:
    if account.erased_at is not None:
        return "erased"
    if account.closed_at is not None:
        return "closed"
    return "suspended" if account.suspended_at is not None else "open"
