"""The facts that decide how an environment is served, in one query."""

from stead.control.edge_feed.records import Facts
from stead.control.engines.postgres import Tx

_FACTS = """
  select e.id, s.id, e.type, s.domain, e.subdomain, e.status, s.region, s.runtime, s.mode, e.node_id,
    e.release
  from environments e join sites s on s.id = e.site_id
"""


async def facts(tx: Tx, env: str) -> Facts | None:
    return await tx.one(Facts, f"{_FACTS} where e.id = $1", env)


async def served(tx: Tx, *, after: str, most: int) -> list[str]:
    """The sites that visitors can reach, in pages by id."""
    return await tx.all(
        str,
        "select s.id from sites s where s.mode = 'live' and s.status not in ('deleted', 'provisioning')"
        " and s.id > $1 order by s.id limit $2",
        after,
        most,
    )
