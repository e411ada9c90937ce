"""Series of metrics."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.control.insights.schema.completeness import GapView
from stead.control.insights.schema.parameters import Hours

MetricName = Literal[
    "requests",
    "client_errors",
    "errors",
    "bytes_in",
    "bytes_out",
    "cache_hit_pct",
    "first_byte_p75_ms",
    "first_byte_p95_ms",
]


class MetricFilter(Struct):
    name: Annotated[MetricName, Meta(description="Which metric.")]
    hours: Hours = 24
    limit: Annotated[int, Meta(ge=1, le=5000, description="How many points to return.")] = 1000


class MetricPoint(Struct):
    ts: Annotated[datetime, Meta(description="When the bucket begins.")]
    site_id: Annotated[str, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    value: Annotated[
        float | None, Meta(description="`null` if there was nothing to measure.", examples=[120.0])
    ]


class MetricView(Struct):
    name: MetricName
    hours: Annotated[int, Meta(examples=[24])]
    bucket_seconds: Annotated[int, Meta(examples=[300])]
    points: Annotated[
        list[MetricPoint],
        Meta(description="Newest first; there is none for a site without requests in a bucket."),
    ]
    truncated: Annotated[bool, Meta(description="There is more than the answer shows.", examples=[False])]
    as_of: Annotated[
        datetime | None,
        Meta(description="Everything up to then is included. `null` if nothing was received yet."),
    ]
    gaps: list[GapView]
