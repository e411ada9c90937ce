"""Reads how much of a machine the containers of an environment use, and how its application answers."""

import asyncio
from datetime import UTC, datetime

from msgspec import Struct

from stead.control.insights.buckets import Buckets
from stead.control.insights.queries import Query, Reader, Scope, Window
from stead.control.insights.schema.resources import (
    AppPoint,
    ContainerPoint,
    ContainerSeries,
    ResourceFilter,
    ResourcesView,
)
from stead.control.insights.store import Completeness


class _Used(Struct, array_like=True):
    container: str
    ts: int
    cpu_pct: float
    memory_bytes: int
    memory_limit: int


class _Answered(Struct, array_like=True):
    ts: int
    requests: int
    errors: int
    first_byte: float
    bytes_in: int
    bytes_out: int


async def read_resources(
    clickhouse: Reader, scope: Scope, window: Window, wanted: ResourceFilter, known: Completeness
) -> ResourcesView:
    buckets = Buckets.of(window, wanted.hours)
    used = Query(
        "resource_minutes",
        f"container, {buckets.column} as bucket,"
        " if(sum(elapsed_ms) = 0, 0, 100 * sum(cpu_ms) / sum(elapsed_ms)),"
        " max(memory_bytes), max(memory_limit)",
        group_by="container, bucket",
        order_by="container, bucket",
    )
    answered = Query(
        buckets.request_sums,
        f"{buckets.column} as bucket, sum(requests), sum(errors),"
        " ifNotFinite(quantilesTDigestMerge(0.5, 0.75, 0.9, 0.95, 0.99)(first_byte)[2], -1),"
        " sum(bytes_in), sum(bytes_out)",
        group_by="bucket",
        order_by="bucket",
    )
    uses, answers = await asyncio.gather(
        used.run(clickhouse, _Used, scope, buckets.window),
        answered.run(clickhouse, _Answered, scope, buckets.window),
    )
    series: dict[str, list[ContainerPoint]] = {}
    for row in uses:
        point = ContainerPoint(
            _moment(row.ts), round(row.cpu_pct, 2), row.memory_bytes, row.memory_limit or None
        )
        series.setdefault(row.container, []).append(point)
    app = [
        AppPoint(
            _moment(row.ts),
            row.requests,
            row.errors,
            row.first_byte if row.first_byte >= 0 else None,
            row.bytes_in,
            row.bytes_out,
        )
        for row in answers
    ]
    containers = [ContainerSeries(container, points) for container, points in series.items()]
    return ResourcesView(
        wanted.hours, buckets.seconds, containers, app, known.truncated, known.as_of, known.gaps
    )


def _moment(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
