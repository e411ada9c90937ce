"""Queries of uploads."""

from datetime import datetime

from stead.control.engines.postgres import Tx
from stead.control.plans.rules import Owner
from stead.shared.ids import UploadId


async def insert(tx: Tx, upload: UploadId, site: str, *, size: int, expires_at: datetime) -> None:
    await tx.run(
        "insert into uploads (id, site_id, size, created_at, expires_at) values ($1, $2, $3, $4, $5)",
        *(upload, site, size, tx.now, expires_at),
    )


async def count_open(tx: Tx, owner: Owner) -> int:
    """The uploads of the owner's sites that have not expired."""
    return int(
        await tx.value(
            "select count(*) from uploads u join sites s on s.id = u.site_id"
            " where (s.team_id = $1 or s.account_id = $2) and u.expires_at > $3",
            *(owner.team_id, owner.account_id, tx.now),
        )
    )


async def declared_size(tx: Tx, upload: str) -> int | None:
    size: int | None = await tx.value("select size from uploads where id = $1", upload)
    return size


async def belongs_to_site(tx: Tx, upload: str, site: str) -> bool:
    return bool(
        await tx.value(
            "select exists (select from uploads where id = $1 and site_id = $2 and expires_at > $3)",
            *(upload, site, tx.now),
        )
    )


async def expire(tx: Tx, upload: str) -> None:
    await tx.run("update uploads set expires_at = least(expires_at, $2) where id = $1", upload, tx.now)


async def list_expired(tx: Tx, *, before: datetime, limit: int, counted: bool = False) -> list[str]:
    """Uploads that expired before then, without those that an unfinished build may still need. With
    `counted`, only those that count toward the storage of a plan."""
    return await tx.all(
        str,
        "select u.id from uploads u where u.expires_at <= $1 and (u.size > 0 or not $3) and not exists"
        " (select from builds b where b.source = u.id and b.finished_at is null)"
        " order by u.expires_at limit $2",
        *(before, limit, counted),
    )


async def set_emptied(tx: Tx, uploads: list[str]) -> None:
    await tx.run("update uploads set size = 0 where id = any($1)", uploads)


async def find_known(tx: Tx, uploads: list[str]) -> set[str]:
    return set(await tx.all(str, "select id from uploads where id = any($1)", uploads))


async def delete(tx: Tx, uploads: list[str]) -> None:
    await tx.run("delete from uploads where id = any($1)", uploads)
