"""The JSON shapes of insights."""

from datetime import date, datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

MAX_REQUEST_HOURS = 4320

Hours = Annotated[int, Meta(ge=1, le=MAX_REQUEST_HOURS, description="How far to look back.")]
Status = Annotated[
    str,
    Meta(
        pattern=r"^[1-5]([0-9][0-9]|xx)$(?!\n)",
        description="A status, or a class such as `5xx`.",
        extra={"expected": "Use a status such as 404, or a class such as 5xx."},
    ),
]
Method = Annotated[
    str, Meta(pattern=r"^[A-Za-z]{1,20}$(?!\n)", extra={"expected": "It has 1 to 20 letters: GET."})
]
Name = Annotated[
    str,
    Meta(
        pattern=r"^[a-z0-9-]{1,63}$(?!\n)",
        extra={"expected": "It has lower-case letters, digits and hyphens: php."},
    ),
]
TraceId = Annotated[
    str,
    Meta(
        pattern=r"^[0-9a-f]{32}$(?!\n)", extra={"expected": "It has 32 hexadecimal digits: 0 to 9, a to f."}
    ),
]
Words = Annotated[str, Meta(min_length=1, max_length=200)]
Bots = Annotated[
    Literal["include", "exclude"],
    Meta(description="Whether requests of programs that say that they are programs count."),
]


class RequestFilter(Struct):
    hours: Hours = 24
    method: Annotated[Method | None, Meta(description="Only requests with this method.")] = None
    status: Status | None = None
    q: Annotated[Words | None, Meta(description="Only requests whose path contains this text.")] = None
    bots: Bots = "include"
    limit: Annotated[int, Meta(ge=1, le=2000, description="How many requests to return.")] = 500


class RequestVolumeFilter(Struct):
    hours: Hours = 24
    bots: Bots = "include"


class GapView(Struct):
    """Requests of this time were lost, because the node could not send them for too long."""

    start: datetime
    end: datetime


class RequestView(Struct):
    ts: datetime
    host: Annotated[str, Meta(examples=["www.example.com"])]
    method: Annotated[str, Meta(examples=["GET"])]
    path: Annotated[str, Meta(description="Without the query string.", examples=["/blog/hello"])]
    status: Annotated[int, Meta(examples=[200])]
    duration_ms: Annotated[
        int,
        Meta(description="From the first byte of the request to the last of the response.", examples=[42]),
    ]
    first_byte_ms: Annotated[
        int | None,
        Meta(description="Until the response began. `null` if it was not measured.", examples=[40]),
    ]
    bytes_in: Annotated[int, Meta(examples=[612])]
    bytes_out: Annotated[int, Meta(examples=[20480])]
    cache: Annotated[
        str | None, Meta(description="What the page cache did: `HIT`, `MISS`, …", examples=["HIT"])
    ]
    firewall: Annotated[
        str | None, Meta(description="What the web application firewall found.", examples=[None])
    ]
    network: Annotated[
        str,
        Meta(
            description="The /24 or /48 network of the visitor. Addresses are not stored.",
            examples=["192.0.2.0"],
        ),
    ]
    tls: Annotated[str | None, Meta(examples=["TLSv1.3"])]
    agent: Annotated[str, Meta(description="The family of the visitor's program.", examples=["Firefox"])]
    device: Annotated[Literal["desktop", "mobile", "tablet", "bot", "other"], Meta(examples=["desktop"])]
    trace_id: Annotated[str, Meta(examples=["4bf92f3577b34da6a3ce929d0e0e4736"])]
    release: Annotated[
        str | None,
        Meta(description="The release that answered.", examples=["dep_01k9zy3v7d00r3m8w5x2t6b4qa"]),
    ]
    reason: Annotated[str | None, Meta(description="Why the edge answered itself.", examples=["maintenance"])]
    function_version_id: Annotated[
        str | None,
        Meta(description="The version of the function that was asked.", examples=[None]),
    ]
    cpu_ms: Annotated[
        float | None, Meta(description="Of the function: how long it has computed.", examples=[None])
    ]
    memory_bytes: Annotated[
        int | None,
        Meta(description="Of the function: the most memory that its process has had.", examples=[None]),
    ]


class RequestsView(Struct):
    hours: Annotated[int, Meta(examples=[24])]
    requests: Annotated[list[RequestView], Meta(description="Newest first.")]
    truncated: Annotated[bool, Meta(description="There are more than `limit`.", examples=[False])]
    as_of: Annotated[
        datetime | None,
        Meta(description="Everything up to then is included. `null` if nothing was received yet."),
    ]
    gaps: list[GapView]


class VolumeBucket(Struct):
    ts: Annotated[datetime, Meta(description="When the bucket begins.")]
    requests: Annotated[int, Meta(examples=[120])]
    client_errors: Annotated[int, Meta(description="With a status from 400 to 499.", examples=[3])]
    errors: Annotated[int, Meta(description="With a status of 500 and above.", examples=[0])]
    bytes_out: Annotated[int, Meta(examples=[1048576])]


class RequestVolumeView(Struct):
    hours: Annotated[int, Meta(examples=[24])]
    bucket_seconds: Annotated[int, Meta(examples=[300])]
    requests: Annotated[int, Meta(description="In the whole window.", examples=[120])]
    errors: Annotated[int, Meta(examples=[0])]
    buckets: Annotated[list[VolumeBucket], Meta(description="Oldest first, also those without requests.")]
    truncated: Annotated[bool, Meta(description="Always false: requests are counted, not sampled.")]
    as_of: Annotated[
        datetime | None,
        Meta(description="Everything up to then is included. `null` if nothing was received yet."),
    ]
    gaps: list[GapView]


MAX_LOG_HOURS = 720

LogHours = Annotated[int, Meta(ge=1, le=MAX_LOG_HOURS, description="How far to look back.")]
Severity = Annotated[
    Literal["DEBUG", "INFO", "WARN", "ERROR"], Meta(description="Only lines of this severity.")
]
LogLimit = Annotated[int, Meta(ge=1, le=5000, description="How many lines to return.")]


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


class StreamTruncated(Struct):
    """More arrived at once than a stream shows."""

    shown: Annotated[int, Meta(description="So many were shown; the others are left out.", examples=[500])]


class StreamError(Struct):
    """A look for what is new has failed. The stream goes on where it was."""

    code: Annotated[str, Meta(examples=["insights.unavailable"])]
    message: Annotated[str, Meta(examples=["Insights cannot be read at the moment."])]


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


class StorageFilter(Struct):
    latest: Annotated[bool, Meta(description="Only what is stored now, without the series.")] = False


Day = Annotated[date, Meta(examples=["2026-11-16"])]


class StorageDay(Struct):
    date: Day
    bytes: Annotated[int, Meta(examples=[52428800])]


class SiteStorageView(Struct):
    site_id: Annotated[str, Meta(examples=["site_01k9zy3v7d00r3m8w5x2t6b4qa"])]
    bytes: Annotated[
        int,
        Meta(description="Unpacked artifacts and uploads, as they count for the plan.", examples=[52428800]),
    ]
    series: Annotated[list[StorageDay], Meta(description="The last 30 days, oldest first.")]


class StorageView(Struct):
    days: Annotated[int, Meta(description="The length of the series.", examples=[30])]
    sites: Annotated[list[SiteStorageView], Meta(description="Newest first.")]
    truncated: Annotated[bool, Meta(description="You have more sites than are shown.", examples=[False])]
    as_of: datetime


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


MAX_DAYS = 180
Metric = Literal["LCP", "FCP", "CLS", "INP", "TTFB"]
WantedMetric = Annotated[Metric, Meta(description="Which web vital.")]


class WindowFilter(Struct):
    days: Annotated[int, Meta(ge=1, le=MAX_DAYS, description="How far to look back. Not with `from`.")] = 30
    from_: Annotated[
        datetime | None, Meta(description="When the window begins. It takes precedence over `days`.")
    ] = field(default=None, name="from")
    to: Annotated[
        datetime | None,
        Meta(description="When the window ends; this moment is not part of it. By default now."),
    ] = None


class VitalFilter(WindowFilter):
    metric: WantedMetric = "LCP"


class PagesFilter(VitalFilter):
    limit: Annotated[int, Meta(ge=1, le=1000, description="How many pages to return.")] = 100


Percentile = Annotated[
    float | None,
    Meta(
        description="In milliseconds; `CLS` has no unit. `null` with fewer than 50 samples.",
        examples=[1840.0],
    ),
]
Samples = Annotated[int, Meta(description="Page views that were measured.", examples=[1200])]


class VitalView(Struct):
    metric: Metric
    p75: Percentile
    p90: Percentile
    p95: Percentile
    p99: Percentile
    samples: Samples


class ServerView(Struct):
    p75_ttfb_ms: Annotated[float | None, Meta(examples=[42.0])]
    p95_ttfb_ms: Annotated[float | None, Meta(examples=[180.0])]
    cache_hit_pct: Annotated[
        float | None,
        Meta(
            description="Of the requests for pages that may be cached. `null` without any.", examples=[92.5]
        ),
    ]
    samples: Annotated[int, Meta(description="Requests.", examples=[48210])]


class SummaryView(Struct):
    rum: Annotated[list[VitalView], Meta(description="What the browsers of visitors have measured.")]
    server: Annotated[ServerView, Meta(description="What the edge has measured, for all requests.")]
    days: Annotated[int, Meta(description="The length of the window, rounded up.", examples=[30])]
    truncated: Annotated[bool, Meta(description="There are more sites than were counted.", examples=[False])]
    as_of: Annotated[
        datetime | None,
        Meta(description="Everything up to then is included. `null` if nothing was received yet."),
    ]
    gaps: list[GapView]


class VitalPoint(Struct):
    ts: Annotated[datetime, Meta(description="When the bucket begins.")]
    p75: Annotated[float, Meta(examples=[1840.0])]
    p90: Annotated[float, Meta(examples=[2600.0])]
    p95: Annotated[float, Meta(examples=[3100.0])]
    samples: Samples


class TimeseriesView(Struct):
    metric: Metric
    days: Annotated[int, Meta(description="The length of the window, rounded up.", examples=[30])]
    bucket_seconds: Annotated[int, Meta(examples=[10800])]
    points: Annotated[list[VitalPoint], Meta(description="Oldest first; there is none without samples.")]
    truncated: Annotated[bool, Meta(examples=[False])]
    as_of: Annotated[
        datetime | None,
        Meta(description="Everything up to then is included. `null` if nothing was received yet."),
    ]
    gaps: list[GapView]


class PageVitalView(Struct):
    path: Annotated[str, Meta(description="Without the query string.", examples=["/blog/hello"])]
    samples: Samples
    p75: Percentile
    rating: Annotated[
        Literal["good", "needs_improvement", "poor", "not_enough_data"],
        Meta(description="Of `p75`, by the thresholds of web vitals."),
    ]


class PagesView(Struct):
    metric: Metric
    days: Annotated[int, Meta(description="The length of the window, rounded up.", examples=[30])]
    pages: Annotated[list[PageVitalView], Meta(description="Those with most samples first.")]
    truncated: Annotated[bool, Meta(description="There are more than `limit`.", examples=[False])]
    as_of: Annotated[
        datetime | None,
        Meta(description="Everything up to then is included. `null` if nothing was received yet."),
    ]
    gaps: list[GapView]


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
