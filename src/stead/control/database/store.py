"""Queries of exports."""

from collections.abc import Sequence
from datetime import datetime

from stead.control.engines.postgres import Tx


async def insert(tx: Tx, export: str, site: str, *, expires_at: datetime) -> None:
    await tx.run(
        "insert into database_exports (id, site_id, expires_at) values ($1, $2, $3)",
        *(export, site, expires_at),
    )


async def count_live(tx: Tx, site: str) -> int:
    return int(
        await tx.value(
            "select count(*) from database_exports where site_id = $1 and expires_at > $2", site, tx.now
        )
    )


async def set_expiry(tx: Tx, export: str, expires_at: datetime) -> bool:
    """False if there is no such export, or if it has expired."""
    changed = await tx.run(
        "update database_exports set expires_at = $2 where id = $1 and expires_at > $3",
        *(export, expires_at, tx.now),
    )
    return changed == 1


async def set_size(tx: Tx, export: str, size: int) -> None:
    await tx.run("update database_exports set size_bytes = $2 where id = $1", export, size)


async def get(tx: Tx, export: str) -> tuple[datetime, int] | None:
    """When it expires, and its size; None if there is no export."""
    return await tx.one(
        lambda expires_at, size: (expires_at, size),
        "select expires_at, size_bytes from database_exports where id = $1 and size_bytes is not null",
        export,
    )


async def list_expired(tx: Tx, before: datetime, *, limit: int) -> list[str]:
    return await tx.all(
        str,
        "select id from database_exports where expires_at <= $1 order by expires_at limit $2",
        *(before, limit),
    )


async def list_known(tx: Tx, exports: Sequence[str]) -> set[str]:
    """Those of them that exist."""
    return set(await tx.all(str, "select id from database_exports where id = any($1)", list(exports)))


async def delete(tx: Tx, exports: Sequence[str]) -> None:
    await tx.run("delete from database_exports where id = any($1)", list(exports))
