"""Queries of how much state functions keep, and of who may ask for it."""

from datetime import datetime

from stead.control.engines.postgres import Tx


async def is_hosted(tx: Tx, *, node: str, site: str, environment: str, function: str) -> bool:
    """Whether the node carries the environment, and the function belongs to its site."""
    return bool(
        await tx.value(
            "select exists (select from environments e join functions f on f.site_id = e.site_id"
            " where e.id = $1 and e.site_id = $2 and e.node_id = $3 and f.id = $4 and f.deleted_at is null)",
            *(environment, site, node, function),
        )
    )


async def add(tx: Tx, environment: str, keys: int, size: int) -> None:
    await tx.run(
        "update function_state set keys = greatest(keys + $2, 0), bytes = greatest(bytes + $3, 0)"
        " where env_id = $1",
        *(environment, keys, size),
    )


async def add_within(
    tx: Tx, environment: str, keys: int, size: int, *, most_keys: int, max_bytes: int
) -> bool:
    added = await tx.run(
        "insert into function_state (env_id, keys, bytes) values ($1, $2, $3)"
        " on conflict (env_id) do update set keys = function_state.keys + $2,"
        " bytes = greatest(function_state.bytes + $3, 0)"
        " where function_state.keys + $2 <= $4 and function_state.bytes + $3 <= $5",
        *(environment, keys, size, most_keys, max_bytes),
    )
    return added == 1


async def claim_count(tx: Tx, environment: str, *, before: datetime) -> bool:
    """One worker counts, and not too often."""
    claimed = await tx.run(
        "update function_state set counted_at = $2"
        " where env_id = $1 and (counted_at is null or counted_at <= $3)",
        *(environment, tx.now, before),
    )
    return claimed == 1


async def mark_orphans(tx: Tx) -> None:
    """Environments that do not exist any more, but have state."""
    await tx.run(
        "update function_state s set orphaned_at = $1 where s.orphaned_at is null"
        " and not exists (select from environments e where e.id = s.env_id)",
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
    await tx.run("update function_state set keys = $2, bytes = $3 where env_id = $1", environment, keys, size)
