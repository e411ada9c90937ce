"""Reads traces: what the parts of a request took."""

from datetime import UTC, datetime

from msgspec import Struct

from stead.control.insights.queries import Condition, Query, Reader, Scope, Window, newest_first, text
from stead.control.insights.schema.traces import (
    RecentTraceFilter,
    SpanView,
    TraceFilter,
    TracesView,
    TraceView,
)
from stead.control.insights.store import Completeness

MAX_SPANS = 1_000
"""Of one trace."""

_COLUMNS = (
    "toUnixTimestamp64Milli(ts), site_id, trace_id, span_id, parent_id, service, name, duration_us, status,"
    " status_code"
)


class _Span(Struct, array_like=True):
    ts: int
    site_id: str
    trace_id: str
    span_id: str
    parent_id: str
    service: str
    name: str
    duration_us: int
    status: str
    status_code: int


async def read_traces(
    clickhouse: Reader,
    scope: Scope,
    window: Window,
    wanted: TraceFilter | RecentTraceFilter,
    known: Completeness,
) -> TracesView:
    query = Query(
        "spans",
        _COLUMNS,
        _conditions(wanted),
        order_by=newest_first(scope, "span_id"),
        limit=wanted.limit + 1,
    )
    rows = await query.run(clickhouse, _Span, scope, window)
    return TracesView(
        hours=wanted.hours,
        spans=[_view(row) for row in rows[: wanted.limit]],
        truncated=known.truncated or len(rows) > wanted.limit,
        as_of=known.as_of,
        gaps=known.gaps,
    )


async def read_trace(clickhouse: Reader, scope: Scope, window: Window, trace_id: str) -> TraceView:
    condition = Condition("trace_id = {trace:String}", {"trace": text(trace_id)})
    query = Query("spans", _COLUMNS, [condition], order_by="ts, duration_us desc", limit=MAX_SPANS + 1)
    rows = await query.run(clickhouse, _Span, scope, window)
    spans = rows[:MAX_SPANS]
    began = min((row.ts for row in spans), default=0)
    ended = max((row.ts + row.duration_us / 1000 for row in spans), default=0)
    return TraceView(
        trace_id=trace_id,
        duration_ms=round(ended - began, 3),
        spans=[_view(row) for row in spans],
        truncated=len(rows) > MAX_SPANS,
    )


def _conditions(wanted: TraceFilter | RecentTraceFilter) -> list[Condition]:
    if isinstance(wanted, RecentTraceFilter):
        return []
    conditions = [Condition("status = 'error'")] if wanted.status == "error" else []
    if wanted.min_duration_ms is not None:
        least = {"least": str(wanted.min_duration_ms * 1000)}
        conditions.append(Condition("duration_us >= {least:UInt64}", least))
    if wanted.service is not None:
        conditions.append(Condition("service = {service:String}", {"service": text(wanted.service)}))
    return conditions


def _view(row: _Span) -> SpanView:
    return SpanView(
        ts=datetime.fromtimestamp(row.ts / 1000, UTC),
        site_id=row.site_id,
        trace_id=row.trace_id,
        span_id=row.span_id,
        parent_id=row.parent_id or None,
        service=row.service,
        name=row.name,
        duration_ms=round(row.duration_us / 1000, 3),
        status="error" if row.status == "error" else "ok",
        status_code=row.status_code or None,
    )
