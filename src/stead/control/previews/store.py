"""Queries of the hosts of previews."""

from stead.control.engines.postgres import Tx
from stead.control.http.principal import Principal
from stead.control.previews.rules import Preview
from stead.control.sites.visibility import viewer, visible_rows

_VISIBLE = f"""
  select e.id, e.site_id, s.team_id, $7::text
  {visible_rows("environments e join sites s on s.id = e.site_id", environment="e.id")}
  and e.status <> 'deleted' and e.id = (
    select id from environments where subdomain = $7 and status <> 'deleted'
    union select env_id from deployments where permanent_host = $7 and not permanent_ended
    union (select env_id from domains
      where hostname in ($7, '*.' || substring($7 from position('.' in $7) + 1))
      and mode = 'live' and status = 'verified' and released_at is null
      order by hostname = $7 desc limit 1)
    limit 1)
"""  # noqa: S608


async def find_by_host(tx: Tx, caller: Principal, host: str) -> Preview | None:
    """The preview with this host, if the caller can see its environment."""
    return await tx.one(Preview, _VISIBLE, *viewer(tx, caller), host)
