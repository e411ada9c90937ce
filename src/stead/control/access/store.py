"""Queries of SSH keys, passwords and the lists that nodes get."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from stead.control.access.rules import (
    ENTERED_RUNTIMES,
    HOLDERS,
    OPEN_ENVIRONMENTS,
    OPEN_SITES,
    EnteredEnvironment,
    StoredKey,
    StoredPassword,
)
from stead.control.engines.postgres import Tx
from stead.control.nodes.rules import LOST_AFTER
from stead.control.sites.visibility import with_role
from stead.protocol.commands import DriverSetName

_HOLDERS = """
  join sites s on s.id = c.site_id
  left join team_members m on m.team_id = s.team_id and m.account_id = c.account_id
    and m.role = any($2) and (m.expires_at is null or m.expires_at > $3)
  where c.site_id = $1 and (s.account_id = c.account_id or m.role is not null)
  and cardinality(c.granted_by)
    = (select count(*) from api_keys a where a.id = any(c.granted_by) and a.revoked_at is null
       and (a.expires_at is null or a.expires_at > $3))
"""
"""Of the credentials `c` of a site, those whose owner may still have them: the owner of the site, or an
active member of its team, as long as the API keys through which they were added are valid. When such a key
expires, this is noticed by the hourly comparison."""
_NEXT_GENERATION = (
    "greatest(nextval('access_generations'), (extract(epoch from clock_timestamp()) * 1000)::bigint)"
)
"""Also after an older state of the database was restored, no generation is lower than what nodes have."""


async def lock_lists(tx: Tx, site: str) -> None:
    """One transaction at a time decides about the lists and the keys of a site."""
    await tx.value("select pg_advisory_xact_lock(hashtext('access'), hashtext($1))", site)


async def list_keys(tx: Tx, site: str) -> list[StoredKey]:
    """Those that count. Others are removed by `remove_outlived`."""
    return await tx.all(
        with_role(StoredKey),
        "select c.id, c.account_id, c.label, c.type, c.public_key, c.fingerprint, c.may_run_commands,"  # noqa: S608
        f" c.created_at, m.expires_at, m.role from ssh_keys c {_HOLDERS} order by c.id",
        *(site, HOLDERS, tx.now),
    )


async def list_passwords(tx: Tx, site: str) -> list[StoredPassword]:
    return await tx.all(
        StoredPassword,
        "select c.env_id, c.id, c.account_id, c.hash, c.created_at, m.expires_at, c.kind"  # noqa: S608
        f" from access_passwords c {_HOLDERS}",
        *(site, HOLDERS, tx.now),
    )


async def remove_outlived(tx: Tx, site: str) -> int:
    """Remove the keys and passwords that have outlived the permission of their owner. Returns how many."""
    removed = 0
    for table in ("ssh_keys", "access_passwords"):
        removed += await tx.run(
            f"delete from {table} where site_id = $1 and id not in (select c.id from {table} c {_HOLDERS})",  # noqa: S608
            *(site, HOLDERS, tx.now),
        )
    return removed


async def list_suspended_holders(tx: Tx, site: str) -> set[str]:
    """The accounts with keys or passwords that open nothing for now."""
    return set(
        await tx.all(
            str,
            "select a.id from accounts a where a.suspended_at is not null and a.id in"
            " (select account_id from ssh_keys where site_id = $1"
            "  union select account_id from access_passwords where site_id = $1)",
            site,
        )
    )


async def insert_key(tx: Tx, site: str, key: StoredKey, *, granted_by: Sequence[str]) -> None:
    await tx.run(
        "insert into ssh_keys (id, site_id, account_id, label, type, public_key, fingerprint,"
        " may_run_commands, granted_by, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)",
        *(key.id, site, key.account_id, key.label, key.type, key.public_key, key.fingerprint),
        *(key.may_run_commands, list(granted_by), key.created_at),
    )


async def rename_key(tx: Tx, key: str, label: str) -> None:
    await tx.run("update ssh_keys set label = $2 where id = $1 and label <> $2", key, label)


async def remove_keys(tx: Tx, site: str, keys: Sequence[str]) -> None:
    await tx.run("delete from ssh_keys where site_id = $1 and id = any($2)", site, list(keys))


async def set_password(tx: Tx, site: str, password: StoredPassword, *, granted_by: Sequence[str]) -> None:
    await tx.run(
        "insert into access_passwords (env_id, site_id, id, account_id, hash, granted_by, created_at, kind)"
        " values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (env_id, kind) do update"
        " set id = $3, account_id = $4, hash = $5, granted_by = $6, created_at = $7",
        *(password.env_id, site, password.id, password.account_id, password.hash),
        *(list(granted_by), password.created_at, password.kind),
    )


async def list_environments(tx: Tx, site: str) -> list[EnteredEnvironment]:
    """Those on a node."""
    return await tx.all(
        EnteredEnvironment,
        "select e.id, e.type, e.branch, e.subdomain, e.node_id,"
        " s.status = any($2) and e.status = any($3) and s.runtime = any($4), s.mode = 'test', e.dataset"
        " from environments e join sites s on s.id = e.site_id"
        " where e.site_id = $1 and e.node_id is not null order by e.type = 'production' desc, e.id",
        *(site, OPEN_SITES, OPEN_ENVIRONMENTS, ENTERED_RUNTIMES),
    )


@dataclass(frozen=True, slots=True)
class StoredList:
    env_id: str
    node_id: str
    driver: DriverSetName
    content: bytes
    is_delivered: bool


@dataclass(frozen=True, slots=True)
class DueList:
    """A list that a node must get now."""

    env_id: str
    node_id: str
    site_id: str
    driver: DriverSetName
    content: bytes
    generation: int
    public_key: bytes | None
    """Of the node."""


async def lists_of_site(tx: Tx, site: str) -> list[StoredList]:
    return await tx.all(
        StoredList,
        "select env_id, node_id, driver, content, delivered = generation from access_lists"
        " where site_id = $1",
        site,
    )


async def put_list(
    tx: Tx,
    site: str,
    env: str,
    node: str,
    driver: DriverSetName,
    content: bytes,
    valid_until: datetime | None,
) -> None:
    """Store a list that differs from the one that the node has. It gets the next generation."""
    await tx.run(
        "insert into access_lists (env_id, node_id, site_id, driver, content, generation, retry_at,"  # noqa: S608
        f" valid_until) values ($1, $2, $3, $4, $5, {_NEXT_GENERATION}, $6, $7)"
        " on conflict (env_id, node_id) do update set driver = $4, content = $5, retry_at = $6,"
        f" generation = greatest({_NEXT_GENERATION}, access_lists.generation + 1), valid_until = $7,"
        " refused = null",
        *(env, node, site, driver, content, tx.now, valid_until),
    )


async def set_validity(tx: Tx, env: str, node: str, valid_until: datetime | None) -> None:
    await tx.run(
        "update access_lists set valid_until = $3 where env_id = $1 and node_id = $2"
        " and valid_until is distinct from $3",
        *(env, node, valid_until),
    )


async def remove_list(tx: Tx, env: str, node: str) -> None:
    await tx.run("delete from access_lists where env_id = $1 and node_id = $2", env, node)


async def list_changed_sites(tx: Tx, limit: int) -> list[str]:
    """Sites whose lists may have to change."""
    return await tx.all(
        str,
        "select site_id from (select site_id from access_changes group by site_id"
        " order by min(id) limit $2) changed"
        " union select site_id from (select distinct site_id from access_lists"
        " where valid_until <= $1 limit $2) expired",
        *(tx.now, limit),
    )


async def forget_changes(tx: Tx, site: str) -> None:
    await tx.run("delete from access_changes where site_id = $1", site)


async def postpone_changes(tx: Tx, site: str) -> None:
    """Let the changes of other sites come first."""
    await tx.run(
        "with moved as (delete from access_changes where site_id = $1 returning site_id)"
        " insert into access_changes (site_id) select distinct site_id from moved",
        site,
    )


async def list_sites(tx: Tx, after: str, limit: int) -> list[str]:
    """Sites that somebody may enter, or that a node has a list of, by id."""
    each = " union ".join(
        f"(select distinct site_id from {table} where site_id > $1 order by site_id limit $2)"  # noqa: S608
        for table in ("ssh_keys", "access_passwords", "access_lists")
    )
    return await tx.all(str, f"{each} order by site_id limit $2", after, limit)


async def claim_due(
    tx: Tx, retry_after: timedelta, limit: int, busy_nodes: Sequence[str], per_node: int
) -> list[DueList]:
    """Lists for live nodes that are not busy, so many of each. If they are not delivered, they are due again
    after this time."""
    return await tx.all(
        DueList,
        "update access_lists l set retry_at = $1 from (select l.env_id, l.node_id from access_lists l"
        " join (select l.env_id, l.node_id,"
        " row_number() over (partition by l.node_id order by l.retry_at) as place from access_lists l"
        " join nodes n on n.id = l.node_id where l.delivered < l.generation and l.retry_at <= $2"
        " and n.last_seen_at > $3 and n.id <> all($5)) waiting"
        " on waiting.env_id = l.env_id and waiting.node_id = l.node_id and waiting.place <= $6"
        " order by l.retry_at limit $4 for update of l skip locked) due,"
        " nodes n where l.env_id = due.env_id and l.node_id = due.node_id and n.id = l.node_id"
        " returning l.env_id, l.node_id, l.site_id, l.driver, l.content, l.generation, n.public_key",
        *(tx.now + retry_after, tx.now, tx.now - LOST_AFTER, limit, list(busy_nodes), per_node),
    )


async def mark_delivered(tx: Tx, due: DueList) -> None:
    await tx.run(
        "update access_lists set delivered = greatest(delivered, $3), refused = null"
        " where env_id = $1 and node_id = $2",
        *(due.env_id, due.node_id, due.generation),
    )


async def mark_refused(tx: Tx, due: DueList, code: str, retry_after: timedelta) -> None:
    """A node remembers what it has refused, so the next attempt has another generation."""
    await tx.run(
        "update access_lists set refused = $4, retry_at = $5,"  # noqa: S608
        f" generation = greatest({_NEXT_GENERATION}, generation + 1)"
        " where env_id = $1 and node_id = $2 and generation = $3",
        *(due.env_id, due.node_id, due.generation, code, tx.now + retry_after),
    )


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the lists of a site are."""

    is_pending: bool
    """Whether a live node has not got its list yet."""
    refused: str | None
    """The code with which a node refused its list."""


async def get_progress(tx: Tx, site: str) -> Progress:
    found = await tx.one(
        Progress,
        "select exists (select from access_changes where site_id = $1)"
        " or coalesce(bool_or(l.delivered < l.generation), false), max(l.refused)"
        " from access_lists l join nodes n on n.id = l.node_id and n.last_seen_at > $2"
        " where l.site_id = $1",
        *(site, tx.now - LOST_AFTER),
    )
    assert found is not None  # noqa: S101 - an aggregate has one row
    return found
