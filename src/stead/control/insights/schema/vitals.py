"""Web vitals: for sites and teams, over time, and for each page."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from stead.control.insights.schema.completeness import GapView

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
