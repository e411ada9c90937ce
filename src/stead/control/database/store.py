"""Queries of exports."""

from collections.abc import Sequence
from datetime import datetime

from stead.control.engines.postgres import Tx


async def insert(tx: Tx, export: str, site: str, url: str, *, expires_at: datetime) -> None:
    await tx.run(
        "insert into database_exports (id, site_id, download_url, expires_at) values ($1, $2, $3, $4)",
        *(export, site, url, expires_at),
    )


async def set_size(tx: Tx, export: str, size: int) -> None:
    await tx.run("update database_exports set size_bytes = $2 where id = $1", export, size)


async def get(tx: Tx, export: str) -> tuple[str, datetime, int] | None:
    """The URL, when it expires, and the size; None if there is no export."""
    return await tx.one(
        lambda url, expires_at, size: (url, expires_at, size),
        "select download_url, expires_at, size_bytes from database_exports"
        " where id = $1 and size_bytes is not null",
        export,
    )


async def list_expired(tx: Tx, *, limit: int) -> list[str]:
    return await tx.all(
        str,
        "select id from database_exports where expires_at <= $1 order by expires_at limit $2",
        *(tx.now, limit),
    )


async def delete(tx: Tx, exports: Sequence[str]) -> None:
    await tx.run("delete from database_exports where id = any($1)", list(exports))
