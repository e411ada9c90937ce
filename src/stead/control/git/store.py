"""Rows of connections: one per site, created when there is something to store."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, NamedTuple

import msgspec

from stead.control.engines.postgres import Tx
from stead.control.git.branch_rules import BranchRule
from stead.control.git.forge_rules import ForgeKind
from stead.control.git.rules import MAX_BRANCHES, Connection, DueRepository

_SELECT_CONNECTION = (
    "select s.id, s.account_id, s.team_id, s.mode, s.domain, s.runtime, s.status, s.git_repo, s.git_branch,"
    " c.rules, c.hook_heard_at, c.refs from sites s left join git_connections c on c.site_id = s.id"
)
_INSERT_IF_MISSING = (
    "insert into git_connections (site_id, check_due_at) select id, $2 from sites where id = $1"
    " on conflict do nothing"
)


class ConnectionStatus(NamedTuple):
    rules: list[BranchRule]
    hook_secret_set: bool
    deploy_public: str | None
    last_hook_at: datetime | None
    last_checked_at: datetime | None
    last_error: str | None
    forge: ForgeKind | None
    forge_error: str | None


def _build_connection(*row: Any) -> Connection:
    values = [*row[:9], _parse_rules(row[9]), *row[10:]]
    return Connection(*values)


def _parse_rules(stored: Any) -> list[BranchRule]:
    return msgspec.convert(stored or [], list[BranchRule])


async def get_status(tx: Tx, site: str) -> ConnectionStatus:
    found = await tx.one(
        lambda rules, *rest: ConnectionStatus(_parse_rules(rules), *rest),
        "select rules, hook_secret is not null, deploy_public, hook_heard_at, checked_at, last_error,"
        " forge, forge_error from git_connections where site_id = $1",
        site,
    )
    return found or ConnectionStatus([], False, None, None, None, None, None, None)


async def get_repository(tx: Tx, site: str) -> str | None:
    url: str | None = await tx.value("select git_repo from sites where id = $1", site)
    return url


async def replace_rules(tx: Tx, site: str, rules: list[BranchRule]) -> None:
    await tx.run(_INSERT_IF_MISSING, site, tx.now)
    await tx.run("update git_connections set rules = $2 where site_id = $1", site, msgspec.to_builtins(rules))


async def set_hook_secret(tx: Tx, site: str, sealed: bytes) -> None:
    await tx.run("update git_connections set hook_secret = $2 where site_id = $1", site, sealed)


async def set_forge(tx: Tx, site: str, kind: ForgeKind | None, sealed: bytes | None) -> None:
    """The token is for the repository that the site has now."""
    await tx.run(
        "update git_connections c set forge = $2, forge_token = $3, forge_error = null,"
        " forge_repository = case when $2::text is null then null else s.git_repo end"
        " from sites s where s.id = c.site_id and c.site_id = $1",
        *(site, kind, sealed),
    )


async def get_sealed_hook_secret(tx: Tx, site: str) -> bytes | None:
    """The secret of a site that is not deleted, and whose owner is not suspended: others are not built."""
    sealed: bytes | None = await tx.value(
        "select c.hook_secret from git_connections c join sites s on s.id = c.site_id"
        " where s.id = $1 and s.status not in ('deleting', 'deleted')"
        " and not exists (select from accounts a where a.id = s.account_id and a.suspended_at is not null)",
        site,
    )
    return sealed


async def save_deploy_key(tx: Tx, site: str, sealed_private: bytes, public: str) -> str:
    """Save a deploy key unless the site has one. Returns the public key that the site has now."""
    saved: str = await tx.value(
        "insert into git_connections as c (site_id, check_due_at, deploy_private, deploy_public)"
        " values ($1, $2, $3, $4) on conflict (site_id) do update"
        " set deploy_private = coalesce(c.deploy_private, $3), deploy_public = coalesce(c.deploy_public, $4)"
        " returning deploy_public",
        site,
        tx.now,
        sealed_private,
        public,
    )
    return saved


async def get_sealed_deploy_key(tx: Tx, site: str) -> bytes | None:
    sealed: bytes | None = await tx.value(
        "select deploy_private from git_connections where site_id = $1", site
    )
    return sealed


async def lock_connection(tx: Tx, site: str) -> Connection | None:
    """Read and lock the connection, so that the pushes to one site are decided one after the other."""
    await tx.run(_INSERT_IF_MISSING, site, tx.now)
    await tx.value("select site_id from git_connections where site_id = $1 for update", site)
    return await tx.one(_build_connection, f"{_SELECT_CONNECTION} where s.id = $1", site)


async def record_hook(tx: Tx, site: str, poll_pause: timedelta) -> None:
    """Record that a hook delivery arrived; the repository is not polled for a while."""
    await tx.run(
        "update git_connections set hook_heard_at = $2, check_due_at = greatest(check_due_at, $3),"
        " last_error = null, failures = 0 where site_id = $1",
        site,
        tx.now,
        tx.now + poll_pause,
    )


async def record_branch(tx: Tx, site: str, branch: str, commit: str | None) -> None:
    """Record the head of a branch, None for a deleted one.

    No effect before all branches are recorded, and for a new branch if there are too many: hooks could report
    any number.
    """
    if commit is None:
        await tx.run("update git_connections set refs = refs - $2 where site_id = $1", site, branch)
    else:
        await tx.run(
            "update git_connections set refs = refs || jsonb_build_object($2::text, $3::text)"
            " where site_id = $1 and (refs ? $2 or (select count(*) from jsonb_object_keys(refs)) < $4)",
            site,
            branch,
            commit,
            MAX_BRANCHES,
        )


async def record_all_branches(tx: Tx, site: str, branches: dict[str, str]) -> None:
    await tx.run("update git_connections set refs = $2 where site_id = $1", site, branches)


async def add_missing_connections(tx: Tx, interval: timedelta) -> None:
    """Add rows for sites with an https repository that have none, with first polls at random times."""
    await tx.run(
        "insert into git_connections (site_id, check_due_at)"
        " select s.id, $1::timestamptz + random() * $2::interval from sites s"
        " where s.git_repo like 'https://%' and s.mode = 'live' and s.status in ('running', 'awaiting_push')"
        " and not exists (select from git_connections c where c.site_id = s.id)"
        " order by s.id limit 500 on conflict do nothing",
        tx.now,
        interval,
    )


async def claim_due_repositories(
    tx: Tx, interval: timedelta, limit: int, owners: Mapping[str, int], *, per_owner: int, failing: bool
) -> list[DueRepository]:
    """Claim repositories that are due for a poll. If the worker dies, they are due again at the next poll.

    `failing` selects those whose last poll failed, or all others. `owners` says how many repositories of each
    owner are being polled; an owner never has more than `per_owner`.
    """
    return await tx.all(
        DueRepository,
        """
        with waiting as (
          select c.site_id, coalesce(s.team_id, s.account_id) as owner,
            row_number() over
              (partition by coalesce(s.team_id, s.account_id) order by c.check_due_at) as place
          from git_connections c join sites s on s.id = c.site_id
          where c.check_due_at <= $1 and (c.failures > 0) = $7 and s.git_repo like 'https://%'
          and s.mode = 'live' and s.status in ('running', 'awaiting_push')
          and not exists (select from accounts a where a.id = s.account_id and a.suspended_at is not null)
        ), due as (
          select c.site_id, w.owner from git_connections c join waiting w on w.site_id = c.site_id
          left join unnest($4::text[], $5::int[]) as o (id, polled) on o.id = w.owner
          where w.place + coalesce(o.polled, 0) <= $6 and c.check_due_at <= $1
          order by c.check_due_at limit $3 for update of c skip locked
        )
        update git_connections c set check_due_at =
          $1::timestamptz + $2::interval * (0.9 + 0.2 * random()) * least(2 ^ c.failures, 12)
        from sites s, due where c.site_id = due.site_id and s.id = c.site_id
        returning c.site_id, due.owner, s.git_repo, c.hook_heard_at, c.failures
        """,
        tx.now,
        interval,
        limit,
        list(owners),
        list(owners.values()),
        per_owner,
        failing,
    )


async def record_poll(tx: Tx, site: str, error: str | None) -> int:
    """Record the result of a poll. Returns the number of failures in a row."""
    failures: int = await tx.value(
        "update git_connections set checked_at = $2, last_error = $3,"
        " failures = case when $3::text is null then 0 else least(failures + 1, 100) end"
        " where site_id = $1 returning failures",
        site,
        tx.now,
        error,
    )
    return failures or 0
