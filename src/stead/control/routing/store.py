"""The facts that decide how an environment is served, in one query."""

from stead.control.platform.database import Tx
from stead.control.routing.rules import Facts

_FACTS = """
  select e.id, s.id, e.type, s.domain, e.subdomain, e.status, s.region, s.runtime, s.mode, e.node_id,
    e.release
  from environments e join sites s on s.id = e.site_id
"""


async def facts(tx: Tx, env: str) -> Facts | None:
    return await tx.one(Facts, f"{_FACTS} where e.id = $1", env)


async def served(tx: Tx, *, after: str, most: int) -> list[str]:
    """The environments that visitors can reach, in pages by id."""
    return await tx.all(
        str,
        "select e.id from environments e join sites s on s.id = e.site_id"
        " where s.mode = 'live' and e.node_id is not null and e.status in ('running', 'suspended')"
        " and s.status <> 'deleted' and e.id > $1 order by e.id limit $2",
        after,
        most,
    )
