"""Reads the requests of an environment."""

from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct

from stead.control.insights.buckets import Buckets
from stead.control.insights.queries import Condition, Query, Reader, Scope, Window, newest_first, text
from stead.control.insights.schema.requests import (
    RequestFilter,
    RequestsView,
    RequestView,
    RequestVolumeFilter,
    RequestVolumeView,
    VolumeBucket,
)
from stead.control.insights.store import Completeness

_WITHOUT_BOTS = Condition("device <> 'bot'")

_COLUMNS = (
    "toUnixTimestamp64Milli(ts), host, method, path, status, duration_ms, first_byte_ms, bytes_in, bytes_out,"
    " cache, firewall, network, tls, agent, device, trace_id, release, reason, function_version, cpu_us,"
    " memory_kb"
)


class _Row(Struct, array_like=True):
    ts: int
    host: str
    method: str
    path: str
    status: int
    duration_ms: int
    first_byte_ms: int
    bytes_in: int
    bytes_out: int
    cache: str
    firewall: str
    network: str
    tls: str
    agent: str
    device: str
    trace_id: str
    release: str
    reason: str
    function_version: str
    cpu_us: int
    memory_kb: int


class _Bucket(Struct, array_like=True):
    ts: int
    requests: int
    client_errors: int
    errors: int
    bytes_out: int


async def read_requests(
    clickhouse: Reader, scope: Scope, window: Window, wanted: RequestFilter, known: Completeness
) -> RequestsView:
    rows = await list_requests(clickhouse, scope, window, wanted, wanted.limit + 1)
    return RequestsView(
        hours=wanted.hours,
        requests=rows[: wanted.limit],
        truncated=len(rows) > wanted.limit,
        as_of=known.as_of,
        gaps=known.gaps,
    )


async def list_requests(
    clickhouse: Reader,
    scope: Scope,
    window: Window,
    wanted: RequestFilter,
    limit: int,
    *more: Condition,
) -> list[RequestView]:
    conditions = [*_conditions(wanted), *more]
    query = Query("requests", _COLUMNS, conditions, order_by=newest_first(scope), limit=limit)
    return [_view(row) for row in await query.run(clickhouse, _Row, scope, window)]


def _conditions(wanted: RequestFilter) -> list[Condition]:
    conditions = [_WITHOUT_BOTS] if wanted.bots == "exclude" else []
    if wanted.method is not None:
        conditions.append(Condition("method = {method:String}", {"method": wanted.method.upper()}))
    if wanted.status is not None:
        conditions.append(_status_condition(wanted.status))
    if wanted.q is not None:
        conditions.append(
            Condition("positionCaseInsensitiveUTF8(path, {q:String}) > 0", {"q": text(wanted.q)})
        )
    return conditions


def _status_condition(status: str) -> Condition:
    if status.endswith("xx"):
        return Condition("intDiv(status, 100) = {status:UInt16}", {"status": status[0]})
    return Condition("status = {status:UInt16}", {"status": status})


def _view(row: _Row) -> RequestView:
    device: Literal["desktop", "mobile", "tablet", "bot", "other"] = "other"
    match row.device:
        case "desktop" | "mobile" | "tablet" | "bot":
            device = row.device
    return RequestView(
        ts=datetime.fromtimestamp(row.ts / 1000, UTC),
        host=row.host,
        method=row.method,
        path=row.path,
        status=row.status,
        duration_ms=row.duration_ms,
        first_byte_ms=row.first_byte_ms if row.first_byte_ms >= 0 else None,
        bytes_in=row.bytes_in,
        bytes_out=row.bytes_out,
        cache=row.cache or None,
        firewall=row.firewall or None,
        network=row.network,
        tls=row.tls or None,
        agent=row.agent,
        device=device,
        trace_id=row.trace_id,
        release=row.release or None,
        reason=row.reason or None,
        function_version_id=row.function_version or None,
        cpu_ms=row.cpu_us / 1000 if row.function_version else None,
        memory_bytes=row.memory_kb * 1024 if row.function_version else None,
    )


async def read_volume(
    clickhouse: Reader, scope: Scope, window: Window, wanted: RequestVolumeFilter, known: Completeness
) -> RequestVolumeView:
    buckets_of = Buckets.of(window, wanted.hours)
    query = Query(
        buckets_of.request_sums,
        f"{buckets_of.column} as bucket, sum(requests), sum(client_errors), sum(errors), sum(bytes_out)",
        [Condition("is_bot = 0")] if wanted.bots == "exclude" else [],
        group_by="bucket",
        order_by="bucket",
    )
    found = {row.ts: row for row in await query.run(clickhouse, _Bucket, scope, buckets_of.window)}
    buckets = [found.get(moment, _Bucket(moment, 0, 0, 0, 0)) for moment in buckets_of.moments]
    return RequestVolumeView(
        hours=wanted.hours,
        bucket_seconds=buckets_of.seconds,
        requests=sum(bucket.requests for bucket in buckets),
        errors=sum(bucket.errors for bucket in buckets),
        buckets=[
            VolumeBucket(
                datetime.fromtimestamp(bucket.ts, UTC),
                bucket.requests,
                bucket.client_errors,
                bucket.errors,
                bucket.bytes_out,
            )
            for bucket in buckets
        ],
        truncated=False,
        as_of=known.as_of,
        gaps=known.gaps,
    )
