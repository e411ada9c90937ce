"""Rows of connections: one a site, made when something is first to be remembered."""

from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from stead.control.engines.postgres import Tx
from stead.control.git.rules import BranchRule, Connection, Due

_CONNECTION = (
    "select s.id, s.account_id, s.team_id, s.mode, s.domain, s.runtime, s.status, s.git_repo, s.git_branch,"
    " c.rules, c.hook_heard_at, c.refs from sites s left join git_connections c on c.site_id = s.id"
)
_NEW = (
    "insert into git_connections (site_id, check_due_at) select id, $2 from sites where id = $1"
    " on conflict do nothing"
)


class Shown(NamedTuple):
    rules: list[BranchRule]
    hook_secret_set: bool
    deploy_public: str | None
    hook_heard_at: datetime | None
    checked_at: datetime | None
    last_error: str | None


def _connection(*row: Any) -> Connection:
    values = [*row[:9], _rules(row[9]), *row[10:]]
    return Connection(*values)


def _rules(stored: Any) -> list[BranchRule]:
    return msgspec.convert(stored or [], list[BranchRule])


async def shown(tx: Tx, site: str) -> Shown:
    found = await tx.one(
        lambda rules, *rest: Shown(_rules(rules), *rest),
        "select rules, hook_secret is not null, deploy_public, hook_heard_at, checked_at, last_error"
        " from git_connections where site_id = $1",
        site,
    )
    return found or Shown([], False, None, None, None, None)


async def repository(tx: Tx, site: str) -> str | None:
    url: str | None = await tx.value("select git_repo from sites where id = $1", site)
    return url


async def replace_rules(tx: Tx, site: str, rules: list[BranchRule]) -> None:
    await tx.run(_NEW, site, tx.now)
    await tx.run("update git_connections set rules = $2 where site_id = $1", site, msgspec.to_builtins(rules))


async def set_secret(tx: Tx, site: str, sealed: bytes) -> None:
    await tx.run("update git_connections set hook_secret = $2 where site_id = $1", site, sealed)


async def keep_deploy_key(tx: Tx, site: str, private: bytes, public: str) -> str:
    """The public key that the site has now: of two who make one at once, the first has it."""
    kept: str = await tx.value(
        "insert into git_connections as c (site_id, check_due_at, deploy_private, deploy_public)"
        " values ($1, $2, $3, $4) on conflict (site_id) do update"
        " set deploy_private = coalesce(c.deploy_private, $3), deploy_public = coalesce(c.deploy_public, $4)"
        " returning deploy_public",
        site,
        tx.now,
        private,
        public,
    )
    return kept


async def deploy_private(tx: Tx, site: str) -> bytes | None:
    sealed: bytes | None = await tx.value(
        "select deploy_private from git_connections where site_id = $1", site
    )
    return sealed


async def secret(tx: Tx, site: str) -> bytes | None:
    """Of a site that is there: whoever deleted one does not build it any more."""
    sealed: bytes | None = await tx.value(
        "select c.hook_secret from git_connections c join sites s on s.id = c.site_id"
        " where s.id = $1 and s.status not in ('deleting', 'deleted')",
        site,
    )
    return sealed


async def hold(tx: Tx, site: str) -> Connection | None:
    """The connection as it is now; whoever else hears of a push to this site waits."""
    await tx.run(_NEW, site, tx.now)
    await tx.value("select site_id from git_connections where site_id = $1 for update", site)
    return await tx.one(_connection, f"{_CONNECTION} where s.id = $1", site)


async def heard_hook(tx: Tx, site: str, quiet: timedelta) -> None:
    """Who has a hook is not asked for a while."""
    await tx.run(
        "update git_connections set hook_heard_at = $2, check_due_at = greatest(check_due_at, $3),"
        " last_error = null, failures = 0 where site_id = $1",
        site,
        tx.now,
        tx.now + quiet,
    )


async def remember(tx: Tx, site: str, branch: str, commit: str | None) -> None:
    """Where a branch stands now; nothing while nobody has looked at all of them."""
    if commit is None:
        await tx.run("update git_connections set refs = refs - $2 where site_id = $1", site, branch)
    else:
        await tx.run(
            "update git_connections set refs = refs || jsonb_build_object($2::text, $3::text)"
            " where site_id = $1",
            site,
            branch,
            commit,
        )


async def remember_all(tx: Tx, site: str, refs: dict[str, str]) -> None:
    await tx.run("update git_connections set refs = $2 where site_id = $1", site, refs)


async def meet_new(tx: Tx, every: timedelta) -> None:
    """Sites with a repository that nobody has thought of yet; each gets a moment of its own."""
    await tx.run(
        "insert into git_connections (site_id, check_due_at)"
        " select s.id, $1::timestamptz + random() * $2::interval from sites s"
        " where s.git_repo like 'https://%' and s.mode = 'live' and s.status in ('running', 'awaiting_push')"
        " and not exists (select from git_connections c where c.site_id = s.id)"
        " order by s.id limit 500 on conflict do nothing",
        tx.now,
        every,
    )


async def claim(tx: Tx, every: timedelta, most: int) -> list[Due]:
    """Repositories that are to be asked now. Whoever claims one and dies leaves it for the next time."""
    return await tx.all(
        Due,
        "with due as (select c.site_id from git_connections c join sites s on s.id = c.site_id"
        " where c.check_due_at <= $1 and s.git_repo like 'https://%' and s.mode = 'live'"
        " and s.status in ('running', 'awaiting_push')"
        " order by c.check_due_at limit $3 for update of c skip locked)"
        " update git_connections c set check_due_at ="
        " $1::timestamptz + $2::interval * (0.9 + 0.2 * random()) * least(2 ^ c.failures, 12)"
        " from sites s, due where c.site_id = due.site_id and s.id = c.site_id"
        " returning c.site_id, s.git_repo, c.hook_heard_at, c.failures",
        tx.now,
        every,
        most,
    )


async def checked(tx: Tx, site: str, error: str | None) -> int:
    """How often in a row it could not be asked."""
    failures: int = await tx.value(
        "update git_connections set checked_at = $2, last_error = $3,"
        " failures = case when $3::text is null then 0 else least(failures + 1, 100) end"
        " where site_id = $1 returning failures",
        site,
        tx.now,
        error,
    )
    return failures or 0
