"""Reads what the browsers of visitors have measured.

A percentile of several hours is made from the sketches of each hour. Averages of percentiles would be wrong.
"""

import asyncio
from datetime import UTC, datetime
from typing import Literal, get_args

from msgspec import Struct

from stead.control.insights.buckets import HOUR, Buckets
from stead.control.insights.queries import Condition, Query, Reader, Scope, Window
from stead.control.insights.schema.vitals import (
    Metric,
    PagesFilter,
    PagesView,
    PageVitalView,
    ServerView,
    SummaryView,
    TimeseriesView,
    VitalFilter,
    VitalPoint,
    VitalView,
    WindowFilter,
)
from stead.control.insights.store import Completeness

ENOUGH_SAMPLES = 50
"""With fewer, a percentile says more about single visitors than about the site."""
METRICS: tuple[Metric, ...] = get_args(Metric)
THRESHOLDS: dict[Metric, tuple[float, float]] = {
    "LCP": (2500, 4000),
    "FCP": (1800, 3000),
    "CLS": (0.1, 0.25),
    "INP": (200, 500),
    "TTFB": (800, 1800),
}
"""Up to the first a value is good, above the second it is poor."""

Rating = Literal["good", "needs_improvement", "poor", "not_enough_data"]

_MERGED = "quantilesTDigestMerge(0.75, 0.9, 0.95, 0.99)(quantiles)"
_FIRST_BYTE = "quantilesTDigestMerge(0.5, 0.75, 0.9, 0.95, 0.99)(first_byte)"


class _Vital(Struct, array_like=True):
    metric: str
    samples: int
    quantiles: list[float | None]


class _Point(Struct, array_like=True):
    ts: int
    samples: int
    quantiles: list[float | None]


class _Page(Struct, array_like=True):
    path: str
    samples: int
    quantiles: list[float | None]


class _Server(Struct, array_like=True):
    requests: int
    cacheable: int
    cached: int
    first_byte: list[float | None]


async def read_summary(
    clickhouse: Reader, scope: Scope, window: Window, wanted: WindowFilter, known: Completeness
) -> SummaryView:
    del wanted
    hours = _whole_hours(window)
    query = Query("vital_hours", f"metric, sum(samples), {_MERGED}", group_by="metric")
    rows, server = await asyncio.gather(
        query.run(clickhouse, _Vital, scope, hours), _read_server(clickhouse, scope, hours)
    )
    found = {row.metric: row for row in rows}
    return SummaryView(
        rum=[_vital(metric, found.get(metric)) for metric in METRICS],
        server=server,
        days=_days(window),
        truncated=known.truncated,
        as_of=known.as_of,
        gaps=known.gaps,
    )


def _vital(metric: Metric, row: _Vital | None) -> VitalView:
    if row is None or row.samples < ENOUGH_SAMPLES:
        return VitalView(metric, None, None, None, None, 0 if row is None else row.samples)
    p75, p90, p95, p99 = (_rounded(metric, value) for value in row.quantiles)
    return VitalView(metric, p75, p90, p95, p99, row.samples)


async def _read_server(clickhouse: Reader, scope: Scope, window: Window) -> ServerView:
    columns = f"sum(requests) as total, sum(cacheable), sum(cached), {_FIRST_BYTE}"
    query = Query("request_hours", columns)
    rows = await query.run(clickhouse, _Server, scope, window)
    if not rows or rows[0].requests == 0:
        return ServerView(None, None, None, 0)
    row = rows[0]
    hit = 100 * row.cached / row.cacheable if row.cacheable else None
    return ServerView(
        p75_ttfb_ms=_finite(row.first_byte[1]),
        p95_ttfb_ms=_finite(row.first_byte[3]),
        cache_hit_pct=None if hit is None else round(hit, 2),
        samples=row.requests,
    )


async def read_timeseries(
    clickhouse: Reader, scope: Scope, window: Window, wanted: VitalFilter, known: Completeness
) -> TimeseriesView:
    hours = (window.last - window.first).total_seconds() / HOUR
    buckets = Buckets.of(window, hours, smallest=HOUR)
    query = Query(
        "vital_hours",
        f"{buckets.column} as bucket, sum(samples), {_MERGED}",
        [_of(wanted.metric)],
        group_by="bucket",
        order_by="bucket",
    )
    points = []
    for row in await query.run(clickhouse, _Point, scope, buckets.window):
        p75, p90, p95, _ = (_rounded(wanted.metric, value) or 0.0 for value in row.quantiles)
        points.append(VitalPoint(datetime.fromtimestamp(row.ts, UTC), p75, p90, p95, row.samples))
    return TimeseriesView(
        metric=wanted.metric,
        days=_days(window),
        bucket_seconds=buckets.seconds,
        points=points,
        truncated=known.truncated,
        as_of=known.as_of,
        gaps=known.gaps,
    )


async def read_pages(
    clickhouse: Reader, scope: Scope, window: Window, wanted: PagesFilter, known: Completeness
) -> PagesView:
    hours, limit, metric = _whole_hours(window), wanted.limit + 1, _of(wanted.metric)
    most = Query(
        "page_hours", "path", [metric], group_by="path", order_by="sum(samples) desc, path", limit=limit
    )
    query = Query(
        "page_hours",
        f"path, sum(samples) as measured, {_MERGED}",
        # Percentiles take much longer than counts, so only those that are shown are computed.
        [metric, most.as_condition("path", scope, hours)],
        group_by="path",
        order_by="measured desc, path",
        limit=limit,
    )
    rows = await query.run(clickhouse, _Page, scope, hours)
    return PagesView(
        metric=wanted.metric,
        days=_days(window),
        pages=[_page(wanted.metric, row) for row in rows[: wanted.limit]],
        truncated=len(rows) > wanted.limit,
        as_of=known.as_of,
        gaps=known.gaps,
    )


def _page(metric: Metric, row: _Page) -> PageVitalView:
    if row.samples < ENOUGH_SAMPLES:
        return PageVitalView(row.path, row.samples, None, "not_enough_data")
    p75 = _rounded(metric, row.quantiles[0])
    return PageVitalView(row.path, row.samples, p75, rate(metric, p75))


def rate(metric: Metric, p75: float | None) -> Rating:
    if p75 is None:
        return "not_enough_data"
    good, fair = THRESHOLDS[metric]
    return "good" if p75 <= good else "needs_improvement" if p75 <= fair else "poor"


def _of(metric: Metric) -> Condition:
    return Condition("metric = {metric:String}", {"metric": metric})


def _whole_hours(window: Window) -> Window:
    """Samples are counted by the hour, so the window begins with one."""
    return Buckets.of(window, 0, smallest=HOUR).window


def _days(window: Window) -> int:
    return -int(-(window.last - window.first).total_seconds() // 86_400)


def _rounded(metric: Metric, value: float | None) -> float | None:
    return None if value is None else round(value, 4 if metric == "CLS" else 1)


def _finite(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
