"""Requests of visitors, and their number over time."""

from datetime import datetime
from typing import Annotated, Literal

from msgspec import Meta, Struct

from stead.control.insights.schema.completeness import GapView
from stead.control.insights.schema.parameters import Hours, Words

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
