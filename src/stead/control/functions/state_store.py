"""Queries of how much state functions keep, and of who may ask for it."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from stead.control.engines.postgres import Tx
from stead.control.plans.rules import Owner

_ADD = (
    "keys = keys + $2, bytes = greatest(bytes + $3, 0),"
    " added_keys = added_keys + greatest($2, 0), added_bytes = added_bytes + greatest($3, 0)"
)
_OF_OWNERS = (
    "select e.id from environments e join sites s on s.id = e.site_id"
    " where (s.team_id = any($1) or s.account_id = any($2)) and e.id <> $3"
)
_PIECES = "(f.bytes + $4 - 1) / $4 * $4"
"""The bytes of an environment in whole pieces."""


async def is_hosted(tx: Tx, *, node: str, site: str, environment: str, function: str) -> bool:
    """Whether the node carries the environment, and the function belongs to its site. A deleted site may
    still be on its node."""
    return bool(
        await tx.value(
            "select exists (select from environments e join functions f on f.site_id = e.site_id"
            " join sites s on s.id = e.site_id where e.id = $1 and e.site_id = $2 and e.node_id = $3"
            " and f.id = $4 and f.deleted_at is null and s.status <> 'deleted')",
            *(environment, site, node, function),
        )
    )


class StateUsage(NamedTuple):
    """What an environment keeps. `granted` is how much it may keep without asking for more."""

    keys: int = 0
    size: int = 0
    granted: int = 0


async def subtract(tx: Tx, environment: str, keys: int, size: int) -> None:
    await tx.run(
        "update function_state set keys = greatest(keys - $2, 0), bytes = greatest(bytes - $3, 0)"
        " where env_id = $1",
        *(environment, keys, size),
    )


async def add_within(tx: Tx, environment: str, keys: int, size: int, *, most_keys: int) -> bool:
    """False if that is more than the environment may keep now."""
    added = await tx.run(
        f"update function_state set {_ADD} where env_id = $1 and keys + $2 <= $4 and bytes + $3 <= granted",  # noqa: S608
        *(environment, keys, size, most_keys),
    )
    return added == 1


async def add_with_grant(tx: Tx, environment: str, keys: int, size: int, *, granted: int) -> None:
    await tx.run("insert into function_state (env_id) values ($1) on conflict do nothing", environment)
    await tx.run(
        f"update function_state set {_ADD}, granted = $4 where env_id = $1",  # noqa: S608
        *(environment, keys, size, granted),
    )


async def find_usage(tx: Tx, environment: str) -> StateUsage:
    found = await tx.one(
        StateUsage,
        "select keys, bytes, granted from function_state where env_id = $1 for update",
        environment,
    )
    return found or StateUsage()


async def find_owner(tx: Tx, environment: str) -> Owner | None:
    return await tx.one(
        Owner,
        "select s.account_id, s.team_id from environments e join sites s on s.id = e.site_id where e.id = $1",
        environment,
    )


async def reduce_grants(
    tx: Tx, teams: Sequence[str], accounts: Sequence[str], *, besides: str, piece: int
) -> int:
    """Leave the other environments of these owners as many pieces as they use. Returns how many bytes those
    are. Deleted sites keep theirs until their state is removed."""
    await tx.run(
        f"update function_state f set granted = {_PIECES} where env_id in ({_OF_OWNERS})"  # noqa: S608
        f" and granted > {_PIECES}",
        *(list(teams), list(accounts), besides, piece),
    )
    return int(
        await tx.value(
            f"select coalesce(sum(greatest(granted, bytes)), 0) from function_state f"  # noqa: S608
            f" where env_id in ({_OF_OWNERS})",
            *(list(teams), list(accounts), besides),
        )
    )


async def claim_count(tx: Tx, environment: str, *, before: datetime) -> bool:
    """One worker counts, and not too often."""
    claimed = await tx.run(
        "update function_state set counted_at = $2, added_keys = 0, added_bytes = 0"
        " where env_id = $1 and (counted_at is null or counted_at <= $3)",
        *(environment, tx.now, before),
    )
    return claimed == 1


async def mark_orphans(tx: Tx) -> None:
    """Environments that have state, and whose site does not exist any more or can no longer be recovered."""
    await tx.run(
        "update function_state f set orphaned_at = $1 where f.orphaned_at is null"
        " and not exists (select from environments e join sites s on s.id = e.site_id where e.id = f.env_id"
        " and (s.status <> 'deleted' or s.recoverable_until > $1))",
        tx.now,
    )


async def list_orphans(tx: Tx, *, before: datetime, limit: int) -> list[str]:
    return await tx.all(
        str,
        "select env_id from function_state where orphaned_at <= $1 order by orphaned_at, env_id limit $2",
        *(before, limit),
    )


async def forget(tx: Tx, environment: str) -> None:
    await tx.run("delete from function_state where env_id = $1", environment)


async def set_usage(tx: Tx, environment: str, keys: int, size: int) -> None:
    """What was counted, and what was added since the count began."""
    await tx.run(
        "update function_state set keys = $2 + added_keys, bytes = $3 + added_bytes where env_id = $1",
        *(environment, keys, size),
    )
