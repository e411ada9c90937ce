"""What containers use, and how the application answers, over time."""

from datetime import datetime
from typing import Annotated

from msgspec import Meta, Struct

from stead.control.insights.schema.completeness import GapView


class ResourceFilter(Struct):
    hours: Annotated[int, Meta(ge=1, le=360, description="How far to look back.")] = 6


class ContainerPoint(Struct):
    ts: Annotated[datetime, Meta(description="When the bucket begins.")]
    cpu_pct: Annotated[float, Meta(description="100 is one processor.", examples=[12.5])]
    memory_bytes: Annotated[int, Meta(description="The highest in the bucket.", examples=[83886080])]
    memory_limit_bytes: Annotated[
        int | None, Meta(description="`null` without a limit.", examples=[268435456])
    ]


class ContainerSeries(Struct):
    container: Annotated[str, Meta(examples=["php"])]
    points: Annotated[
        list[ContainerPoint],
        Meta(description="Oldest first; there is none while the container did not run."),
    ]


class AppPoint(Struct):
    ts: Annotated[datetime, Meta(description="When the bucket begins.")]
    requests: Annotated[int, Meta(examples=[120])]
    errors: Annotated[int, Meta(description="With a status of 500 and above.", examples=[0])]
    first_byte_p75_ms: Annotated[float | None, Meta(examples=[42.0])]
    network_in_bytes: Annotated[int, Meta(examples=[73440])]
    network_out_bytes: Annotated[int, Meta(examples=[1048576])]


class ResourcesView(Struct):
    hours: Annotated[int, Meta(examples=[6])]
    bucket_seconds: Annotated[int, Meta(examples=[60])]
    containers: Annotated[list[ContainerSeries], Meta(description="Static sites have no containers.")]
    app: Annotated[list[AppPoint], Meta(description="Oldest first; there is none without requests.")]
    truncated: Annotated[bool, Meta(examples=[False])]
    as_of: Annotated[
        datetime | None,
        Meta(description="Everything up to then is included. `null` if nothing was received yet."),
    ]
    gaps: list[GapView]
