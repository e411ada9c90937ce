"""Reads log lines."""

import re
from datetime import UTC, datetime

from msgspec import Struct

from stead.control.insights.buckets import Buckets
from stead.control.insights.queries import (
    Condition,
    Query,
    Reader,
    Scope,
    Window,
    array,
    newest_first,
    text,
)
from stead.control.insights.schema.logs import (
    LogBucket,
    LogFilter,
    LogLineView,
    LogsView,
    LogTailFilter,
    LogVolumeFilter,
    LogVolumeView,
)
from stead.control.insights.store import Completeness

MAX_SHOWN_BYTES = 4 << 20
"""Of one answer. Lines may be long, so there may be fewer than were asked for."""
_WORD = re.compile(r"[0-9A-Za-z]+")


class _Row(Struct, array_like=True):
    ts: int
    site_id: str
    severity: str
    body: str
    container: str
    service: str
    trace_id: str


class _Bucket(Struct, array_like=True):
    ts: int
    severity: str
    lines: int


async def read_logs(
    clickhouse: Reader,
    scope: Scope,
    window: Window,
    wanted: LogFilter | LogTailFilter,
    known: Completeness,
) -> LogsView:
    query = _lines_query(scope, wanted, wanted.limit + 1)
    rows, has_more = await query.run_up_to(clickhouse, _Row, scope, window, MAX_SHOWN_BYTES)
    lines = [_line(row) for row in rows]
    truncated = known.truncated or has_more or len(lines) > wanted.limit
    return LogsView(wanted.hours, lines[: wanted.limit], truncated, known.as_of, known.gaps)


async def list_lines(
    clickhouse: Reader,
    scope: Scope,
    window: Window,
    wanted: LogFilter | LogTailFilter,
    limit: int,
    *more: Condition,
) -> list[LogLineView]:
    query = _lines_query(scope, wanted, limit, *more)
    return [_line(row) for row in await query.run(clickhouse, _Row, scope, window)]


def _lines_query(scope: Scope, wanted: LogFilter | LogTailFilter, limit: int, *more: Condition) -> Query:
    conditions = [*_severity(wanted.severity), *more]
    if isinstance(wanted, LogFilter):
        conditions += _more_conditions(wanted)
    return Query(
        "logs",
        "toUnixTimestamp64Milli(ts), site_id, severity, body, container, service, trace_id",
        conditions,
        order_by=newest_first(scope),
        limit=limit,
    )


def _line(row: _Row) -> LogLineView:
    return LogLineView(
        ts=datetime.fromtimestamp(row.ts / 1000, UTC),
        site_id=row.site_id,
        severity_text=row.severity,
        body=row.body,
        container=row.container,
        service_name=row.service,
        trace_id=row.trace_id or None,
    )


def _severity(severity: str | None) -> list[Condition]:
    return [] if severity is None else [Condition("severity = {severity:String}", {"severity": severity})]


def _more_conditions(wanted: LogFilter) -> list[Condition]:
    conditions = []
    if wanted.container is not None:
        conditions.append(Condition("container = {container:String}", {"container": wanted.container}))
    if wanted.trace_id is not None:
        conditions.append(Condition("trace_id = {trace_id:String}", {"trace_id": wanted.trace_id}))
    if wanted.q is not None:
        conditions.append(_text_condition(wanted.q))
    return conditions


def _text_condition(wanted: str) -> Condition:
    """Words are looked up in an index. A text that is not made of words only is searched for as it is."""
    exact = wanted[1:-1] if len(wanted) > 2 and wanted[0] == wanted[-1] == '"' else ""
    words = [word.lower() for word in _WORD.findall(wanted)]
    if exact or not wanted.isascii() or not words:
        return Condition("positionCaseInsensitiveUTF8(body, {q:String}) > 0", {"q": text(exact or wanted)})
    return Condition("hasAllTokens(body, {q:Array(String)})", {"q": array(words)})


async def read_volume(
    clickhouse: Reader, scope: Scope, window: Window, wanted: LogVolumeFilter, known: Completeness
) -> LogVolumeView:
    buckets = Buckets.of(window, wanted.hours)
    query = Query(
        "log_minutes",
        f"{buckets.column} as bucket, severity, sum(lines)",
        _severity(wanted.severity),
        group_by="bucket, severity",
        order_by="bucket, severity",
    )
    found: dict[int, dict[str, int]] = {}
    for row in await query.run(clickhouse, _Bucket, scope, buckets.window):
        found.setdefault(row.ts, {})[row.severity] = row.lines
    shown = [
        LogBucket(datetime.fromtimestamp(moment, UTC), sum(counts.values()), counts)
        for moment in buckets.moments
        for counts in [found.get(moment, {})]
    ]
    return LogVolumeView(
        hours=wanted.hours,
        bucket_seconds=buckets.seconds,
        lines=sum(bucket.lines for bucket in shown),
        buckets=shown,
        truncated=known.truncated,
        as_of=known.as_of,
        gaps=known.gaps,
    )
