"""Queries for what edge records are built from."""

from stead.control.edge_feed.records import RecordSource
from stead.control.engines.postgres import Tx

_RECORD_SOURCE = """
  select e.id, s.id, e.type, s.domain, e.subdomain, e.status, s.region, s.runtime, s.mode, e.node_id,
    e.release
  from environments e join sites s on s.id = e.site_id
"""


async def get_record_source(tx: Tx, env: str) -> RecordSource | None:
    return await tx.one(RecordSource, f"{_RECORD_SOURCE} where e.id = $1", env)


async def list_served_sites(tx: Tx, *, after: str, limit: int) -> list[str]:
    return await tx.all(
        str,
        "select s.id from sites s where s.mode = 'live' and s.status not in ('deleted', 'provisioning')"
        " and s.id > $1 order by s.id limit $2",
        after,
        limit,
    )
