"""What PostgreSQL knows about the data of an environment: how fresh it is, and what is missing."""

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from stead.control.engines.postgres import Tx
from stead.control.http.principal import Principal
from stead.control.insights.queries import Scope, Window
from stead.control.insights.rules import ReadableSites
from stead.control.insights.schema.completeness import GapView
from stead.control.sites.visibility import OWNERS, sites_of_owner, viewer
from stead.control.teams.rules import VisibleTeam

MAX_GAPS = 100
MAX_SITES = 1_000
"""How many sites one answer can be about: the newest ones."""

_VISIBLE_SITES = f"""
  with {OWNERS}
  select s.id, e.id from owners o join sites s on coalesce(s.team_id, s.account_id) = o.id
  join environments e on e.site_id = s.id
    and (e.type = 'production' or ($5 = 'environment' and e.id = $6))
  where {sites_of_owner(environment="e.id")} and s.status <> 'deleted' order by s.id desc limit $7
"""  # noqa: S608

_VISIBLE_SITES_OF_TEAM = f"""
  with {OWNERS}
  select s.id, e.id from owners o join sites s on coalesce(s.team_id, s.account_id) = o.id
  join environments e on e.site_id = s.id
    and (e.type = 'production' or ($5 = 'environment' and e.id = $6))
  where {sites_of_owner(environment="e.id")} and o.id = $8 and s.status <> 'deleted'
  order by s.id desc limit $7
"""  # noqa: S608


class Completeness(NamedTuple):
    as_of: datetime | None
    gaps: list[GapView]
    truncated: bool = False
    """The caller has more sites than the answer is about."""


async def get_completeness(tx: Tx, scope: Scope, streams: Sequence[str], window: Window) -> Completeness:
    """Of an answer that is made of these streams."""
    environments = list(scope.environments)
    as_of: datetime | None = await tx.value(
        "select min(p.until) from environments e join telemetry_progress p on p.node_id = e.node_id"
        " and p.stream = any($2) where e.id = any($1)",
        *(environments, list(streams)),
    )
    gaps = await tx.all(
        GapView,
        "select distinct g.first_at, g.last_at from environment_placements p"
        " join telemetry_gaps g on g.node_id = p.node_id and g.stream = any($2)"
        " and g.last_at >= p.since and (p.until is null or g.first_at <= p.until)"
        " where p.env_id = any($1) and g.last_at >= $3 and g.first_at < $4"
        " order by g.first_at desc limit $5",
        *(environments, list(streams), window.first, window.last, MAX_GAPS),
    )
    return Completeness(as_of, gaps)


async def list_visible_sites(tx: Tx, caller: Principal) -> ReadableSites:
    """What the caller can see of its own sites and those of its teams, within the pin and the mode of the
    credential. Roles that see sites also see their insights."""
    return _sites(await tx.all(_pair, _VISIBLE_SITES, *viewer(tx, caller), MAX_SITES + 1))


async def list_visible_sites_of_team(tx: Tx, caller: Principal, team: VisibleTeam) -> ReadableSites:
    return _sites(await tx.all(_pair, _VISIBLE_SITES_OF_TEAM, *viewer(tx, caller), MAX_SITES + 1, team.id))


def _pair(site: str, environment: str) -> tuple[str, str]:
    return site, environment


def _sites(found: list[tuple[str, str]]) -> ReadableSites:
    return ReadableSites(tuple(found[:MAX_SITES]), len(found) > MAX_SITES)
