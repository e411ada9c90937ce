"""Queries of exports."""

from collections.abc import Sequence
from datetime import datetime

from stead.control.engines.postgres import Tx


async def insert(tx: Tx, job: str, site: str, *, expires_at: datetime) -> None:
    await tx.run(
        "insert into database_exports (job_id, site_id, expires_at) values ($1, $2, $3)"
        " on conflict (job_id) do update set expires_at = $3",
        *(job, site, expires_at),
    )


async def set_size(tx: Tx, job: str, size: int) -> None:
    await tx.run("update database_exports set size_bytes = $2 where job_id = $1", job, size)


async def set_url(tx: Tx, job: str, url: str, *, expires_at: datetime) -> None:
    await tx.run(
        "update database_exports set download_url = $2, expires_at = $3 where job_id = $1",
        *(job, url, expires_at),
    )


async def get(tx: Tx, job: str) -> tuple[str, datetime, int] | None:
    """The URL, when it expires, and the size; None if there is no export."""
    return await tx.one(
        lambda url, expires_at, size: (url, expires_at, size),
        "select download_url, expires_at, size_bytes from database_exports"
        " where job_id = $1 and download_url is not null and size_bytes is not null",
        job,
    )


async def list_expired(tx: Tx, *, limit: int) -> list[str]:
    return await tx.all(
        str,
        "select job_id from database_exports where expires_at <= $1 order by expires_at limit $2",
        *(tx.now, limit),
    )


async def delete(tx: Tx, jobs: Sequence[str]) -> None:
    await tx.run("delete from database_exports where job_id = any($1)", list(jobs))
