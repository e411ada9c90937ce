"""Log lines of the application, and their number over time."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.control.insights.schema.completeness import GapView
from stead.control.insights.schema.parameters import Name, Words

MAX_LOG_HOURS = 720

LogHours = Annotated[int, Meta(ge=1, le=MAX_LOG_HOURS, description="How far to look back.")]
Severity = Annotated[
    Literal["DEBUG", "INFO", "WARN", "ERROR"], Meta(description="Only lines of this severity.")
]
LogLimit = Annotated[int, Meta(ge=1, le=5000, description="How many lines to return.")]
TraceId = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{32}$(?!\n)", extra={"expected": "It has 32 hexadecimal digits: 0 to 9, a to f."}
    ),
]


class LogFilter(Struct):
    hours: LogHours = 24
    limit: LogLimit = 1000
    severity: Severity | None = None
    container: Annotated[
        Name | None,
        Meta(description="Only lines of this container."),
    ] = None
    q: Annotated[
        Words | None,
        Meta(
            description="Only lines that contain all these words, in upper or lower case; in double quotes,"
            " only those that contain exactly this text."
        ),
    ] = None
    trace_id: Annotated[
        TraceId | None,
        Meta(description="Only lines of this request."),
    ] = None


class LogVolumeFilter(Struct):
    hours: LogHours = 24
    severity: Severity | None = None


class LogTailFilter(LogVolumeFilter):
    limit: LogLimit = 1000


class LogLineView(Struct):
    ts: datetime
    site_id: Annotated[str, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    severity_text: Annotated[str, Meta(examples=["ERROR"])]
    body: Annotated[
        str,
        Meta(
            description="Addresses are cut to networks, mail addresses and query strings are removed.",
            examples=["PHP Fatal error:  Uncaught Error: Call to undefined function nothing()"],
        ),
    ]
    container: Annotated[str, Meta(examples=["php"])]
    service_name: Annotated[str, Meta(examples=["php-fpm"])]
    trace_id: Annotated[str | None, Meta(examples=[None])]


class LogsView(Struct):
    hours: Annotated[int, Meta(examples=[24])]
    lines: Annotated[list[LogLineView], Meta(description="Newest first.")]
    truncated: Annotated[bool, Meta(description="There is more than the answer shows.", examples=[False])]
    as_of: Annotated[
        datetime | None,
        Meta(description="Everything up to then is included. `null` if nothing was received yet."),
    ]
    gaps: list[GapView]


class LogBucket(Struct):
    ts: Annotated[datetime, Meta(description="When the bucket begins.")]
    lines: Annotated[int, Meta(examples=[12])]
    severities: Annotated[dict[str, int], Meta(examples=[{"ERROR": 2, "INFO": 10}])]


class LogVolumeView(Struct):
    hours: Annotated[int, Meta(examples=[24])]
    bucket_seconds: Annotated[int, Meta(examples=[300])]
    lines: Annotated[int, Meta(description="In the whole window.", examples=[12])]
    buckets: Annotated[list[LogBucket], Meta(description="Oldest first, also those without lines.")]
    truncated: Annotated[bool, Meta(description="You have more sites than were counted.")]
    as_of: Annotated[
        datetime | None,
        Meta(description="Everything up to then is included. `null` if nothing was received yet."),
    ]
    gaps: list[GapView]
