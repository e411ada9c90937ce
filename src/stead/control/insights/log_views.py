"""Reads log lines."""

import re
from datetime import UTC, datetime

from msgspec import Struct

from stead.control.insights.buckets import Buckets
from stead.control.insights.queries import (
    ClickHouse,
    Condition,
    Query,
    Scope,
    Window,
    array,
    newest_first,
    text,
)
from stead.control.insights.schema import (
    LogBucket,
    LogFilter,
    LogLineView,
    LogsView,
    LogTailFilter,
    LogVolumeFilter,
    LogVolumeView,
)
from stead.control.insights.store import Completeness

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
    clickhouse: ClickHouse,
    scope: Scope,
    window: Window,
    wanted: LogFilter | LogTailFilter,
    known: Completeness,
) -> LogsView:
    lines = await list_lines(clickhouse, scope, window, wanted, wanted.limit + 1)
    truncated = known.truncated or len(lines) > wanted.limit
    return LogsView(wanted.hours, lines[: wanted.limit], truncated, known.as_of, known.gaps)


async def list_lines(
    clickhouse: ClickHouse,
    scope: Scope,
    window: Window,
    wanted: LogFilter | LogTailFilter,
    limit: int,
    *more: Condition,
) -> list[LogLineView]:
    conditions = [*_severity(wanted.severity), *more]
    if isinstance(wanted, LogFilter):
        conditions += _more_conditions(wanted)
    query = Query(
        "logs",
        "toUnixTimestamp64Milli(ts), site_id, severity, body, container, service, trace_id",
        conditions,
        order_by=newest_first(scope),
        limit=limit,
    )
    return [
        LogLineView(
            ts=datetime.fromtimestamp(row.ts / 1000, UTC),
            site_id=row.site_id,
            severity_text=row.severity,
            body=row.body,
            container=row.container,
            service_name=row.service,
            trace_id=row.trace_id or None,
        )
        for row in await query.run(clickhouse, _Row, scope, window)
    ]


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
    clickhouse: ClickHouse, scope: Scope, window: Window, wanted: LogVolumeFilter, known: Completeness
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
