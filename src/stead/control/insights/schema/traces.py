"""Traces of requests, span by span."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.control.insights.schema.completeness import GapView
from stead.control.insights.schema.parameters import Name

MAX_TRACE_HOURS = 720
TraceHours = Annotated[int, Meta(ge=1, le=MAX_TRACE_HOURS, description="How far to look back.")]
TraceLimit = Annotated[int, Meta(ge=1, le=2000, description="How many spans to return.")]


class TraceFilter(Struct):
    hours: TraceHours = 24
    status: Annotated[Literal["error"] | None, Meta(description="Only spans that failed.")] = None
    min_duration_ms: Annotated[
        Annotated[int, Meta(ge=0, le=3_600_000)] | None,
        Meta(description="Only spans that took at least so long."),
    ] = None
    service: Annotated[
        Name | None,
        Meta(description="Only spans of this service: `edge`, `php`, `database` or `http`."),
    ] = None
    limit: TraceLimit = 200


class RecentTraceFilter(Struct):
    hours: TraceHours = 24
    limit: TraceLimit = 200


class SpanView(Struct):
    ts: Annotated[datetime, Meta(description="When it began.")]
    site_id: Annotated[str, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    trace_id: Annotated[str, Meta(examples=["4bf92f3577b34da6a3ce929d0e0e4736"])]
    span_id: Annotated[str, Meta(examples=["00f067aa0ba902b7"])]
    parent_id: Annotated[str | None, Meta(description="The span that it is a part of.", examples=[None])]
    service: Annotated[str, Meta(examples=["edge"])]
    name: Annotated[str, Meta(examples=["GET /blog/hello"])]
    duration_ms: Annotated[float, Meta(examples=[42.125])]
    status: Annotated[Literal["ok", "error"], Meta(examples=["ok"])]
    status_code: Annotated[int | None, Meta(description="Of the response, if it has one.", examples=[200])]


class TracesView(Struct):
    hours: Annotated[int, Meta(examples=[24])]
    spans: Annotated[list[SpanView], Meta(description="Newest first.")]
    truncated: Annotated[bool, Meta(description="There are more than `limit`.", examples=[False])]
    as_of: Annotated[
        datetime | None,
        Meta(description="Everything up to then is included. `null` if nothing was received yet."),
    ]
    gaps: list[GapView]


class TraceView(Struct):
    trace_id: Annotated[str, Meta(examples=["4bf92f3577b34da6a3ce929d0e0e4736"])]
    duration_ms: Annotated[
        float,
        Meta(description="From the beginning of the first span to the end of the last.", examples=[42.125]),
    ]
    spans: Annotated[
        list[SpanView], Meta(description="In the order in which they began. Empty if there are none.")
    ]
    truncated: Annotated[bool, Meta(description="The trace has more spans than are shown.", examples=[False])]
