"""What PostgreSQL knows about the data of an environment: how fresh it is, and what is missing."""

from datetime import datetime
from typing import NamedTuple

from stead.control.engines.postgres import Tx
from stead.control.insights.queries import Scope, Window
from stead.control.insights.schema import GapView

MAX_GAPS = 100


class Completeness(NamedTuple):
    as_of: datetime | None
    gaps: list[GapView]


async def get_completeness(tx: Tx, scope: Scope, stream: str, window: Window) -> Completeness:
    environments = list(scope.environments)
    as_of: datetime | None = await tx.value(
        "select min(p.until) from environments e join telemetry_progress p on p.node_id = e.node_id"
        " and p.stream = $2 where e.id = any($1)",
        *(environments, stream),
    )
    gaps = await tx.all(
        GapView,
        "select distinct g.first_at, g.last_at, g.rows from environment_placements p"
        " join telemetry_gaps g on g.node_id = p.node_id and g.stream = $2"
        " and g.last_at >= p.since and (p.until is null or g.first_at <= p.until)"
        " where p.env_id = any($1) and g.last_at >= $3 and g.first_at < $4"
        " order by g.first_at desc limit $5",
        *(environments, stream, window.first, window.last, MAX_GAPS),
    )
    return Completeness(as_of, gaps)
