"""Queries of uploads."""

from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.shared.ids import UploadId


async def insert(tx: Tx, upload: UploadId, site: str, *, expires_at: datetime) -> None:
    await tx.run(
        "insert into uploads (id, site_id, created_at, expires_at) values ($1, $2, $3, $4)",
        *(upload, site, tx.now, expires_at),
    )


async def belongs_to_site(tx: Tx, upload: str, site: str) -> bool:
    return bool(
        await tx.value(
            "select exists (select from uploads where id = $1 and site_id = $2 and expires_at > $3)",
            *(upload, site, tx.now),
        )
    )


async def expire(tx: Tx, upload: str) -> None:
    await tx.run("update uploads set expires_at = least(expires_at, $2) where id = $1", upload, tx.now)


async def list_expired(tx: Tx, *, before: datetime, limit: int) -> list[str]:
    """Uploads that expired before then, without those that an unfinished build may still need."""
    return await tx.all(
        str,
        "select u.id from uploads u where u.expires_at <= $1 and not exists"
        " (select from builds b where b.source = u.id and b.finished_at is null)"
        " order by u.expires_at limit $2",
        *(before, limit),
    )


async def delete(tx: Tx, uploads: list[str]) -> None:
    await tx.run("delete from uploads where id = any($1)", uploads)
