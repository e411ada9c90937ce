"""Reads series of metrics."""

from datetime import UTC, datetime

from msgspec import Struct

from stead.control.insights.buckets import Buckets
from stead.control.insights.queries import Query, Reader, Scope, Window
from stead.control.insights.schema.metrics import MetricFilter, MetricName, MetricPoint, MetricView
from stead.control.insights.store import Completeness

_QUANTILES = "quantilesTDigestMerge(0.5, 0.75, 0.9, 0.95, 0.99)(first_byte)"
_VALUES: dict[MetricName, str] = {
    "requests": "sum(requests)",
    "client_errors": "sum(client_errors)",
    "errors": "sum(errors)",
    "bytes_in": "sum(bytes_in)",
    "bytes_out": "sum(bytes_out)",
    "cache_hit_pct": "if(sum(cacheable) = 0, nan, 100 * sum(cached) / sum(cacheable))",
    "first_byte_p75_ms": f"{_QUANTILES}[2]",
    "first_byte_p95_ms": f"{_QUANTILES}[4]",
}


class _Point(Struct, array_like=True):
    ts: int
    site_id: str
    value: float | None


async def read_series(
    clickhouse: Reader, scope: Scope, window: Window, wanted: MetricFilter, known: Completeness
) -> MetricView:
    buckets = Buckets.of(window, wanted.hours)
    query = Query(
        buckets.request_sums,
        f"{buckets.column} as bucket, site_id, toFloat64({_VALUES[wanted.name]})",
        group_by="bucket, site_id",
        order_by="bucket desc, site_id",
        limit=wanted.limit + 1,
    )
    rows = await query.run(clickhouse, _Point, scope, buckets.window)
    return MetricView(
        name=wanted.name,
        hours=wanted.hours,
        bucket_seconds=buckets.seconds,
        points=[
            MetricPoint(datetime.fromtimestamp(row.ts, UTC), row.site_id, row.value)
            for row in rows[: wanted.limit]
        ],
        truncated=known.truncated or len(rows) > wanted.limit,
        as_of=known.as_of,
        gaps=known.gaps,
    )
