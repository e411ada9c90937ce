"""Queries of how much sites store: the unpacked artifacts, where each blob is counted once for a site, and
uploads."""

from datetime import date, timedelta
from typing import NamedTuple

from stead.control.engines.postgres import Tx

KEPT = timedelta(days=40)

_BYTES = """
  (select coalesce(sum(blob.bytes), 0)::bigint from (
    select greatest(max(b.size), max(u.unpacked_size)) as bytes
    from artifact_blobs u join blobs b on b.digest = u.digest join artifacts a on a.id = u.artifact_id
    where a.site_id = s.id group by u.digest) blob)
  + (select coalesce(sum(u.size), 0) from uploads u where u.site_id = s.id)
"""


class StoredOnDay(NamedTuple):
    site_id: str
    day: date
    bytes: int


async def list_now(tx: Tx, sites: list[str]) -> dict[str, int]:
    rows = await tx.all(
        lambda site, size: (str(site), int(size)),
        f"select s.id, {_BYTES} from sites s where s.id = any($1)",  # noqa: S608
        sites,
    )
    return dict(rows)


async def list_days(tx: Tx, sites: list[str], since: date) -> list[StoredOnDay]:
    return await tx.all(
        StoredOnDay,
        "select site_id, day, bytes from site_storage where site_id = any($1) and day >= $2 order by day",
        *(sites, since),
    )


async def record_day(tx: Tx, after: str, limit: int) -> str | None:
    """Record what the next sites store today. Returns the last of them; None if there are no more."""
    last: str | None = await tx.value(
        "with batch as materialized"  # noqa: S608
        " (select s.id from sites s where s.id > $1 and s.status <> 'deleted' order by s.id limit $2),"
        f" recorded as (insert into site_storage select s.id, $3, {_BYTES} from batch s"
        " on conflict (site_id, day) do update set bytes = excluded.bytes)"
        " select max(id) from batch",
        *(after, limit, tx.now.date()),
    )
    return last


async def delete_old(tx: Tx, limit: int) -> int:
    return await tx.run(
        "delete from site_storage where ctid = any(array("
        "select ctid from site_storage where day < $1 limit $2))",
        *((tx.now - KEPT).date(), limit),
    )
