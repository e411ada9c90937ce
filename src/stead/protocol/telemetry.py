"""What nodes record about the sites they host, on its way to the control plane.

A chunk is an immutable file: one line of JSON (`ChunkHead`), and then the rows, compressed with zstd. A row
is a line of tab-separated values in ClickHouse's notation. Its first value is the environment, its second one
the time, in seconds with three decimals. No row names a site: the control plane adds it, and drops rows of
environments that the node does not host, so no row can be of another tenant.

A node asks where to put a chunk, puts it there, says so, and forgets it when the control plane has recorded
that. Asking and saying can be repeated.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from stead.protocol.sign_ins import Identifier

MAX_CHUNK_BYTES = 8 << 20
"""Compressed."""
MAX_PLAIN_BYTES = 64 << 20
"""The rows of a chunk, decompressed."""
MAX_ROWS = 100_000
MAX_PARTS = 20_000
"""The environments in one chunk."""
MAX_GAPS = 100
TIME_DIGITS = 14
"""The time of a row: `1763300000.123`."""

StreamName = Literal["requests", "logs", "resources", "vitals", "spans"]

REQUEST_COLUMNS = (
    *("ts", "release", "host", "method", "path", "status", "bytes_in", "bytes_out", "duration_ms"),
    *("first_byte_ms", "cache", "firewall", "trace_id", "network", "tls", "agent", "device", "reason"),
    *("function_version", "cpu_us", "memory_kb"),
)
"""The values of a row of `requests` behind the environment, in this order."""

LOG_COLUMNS = ("ts", "severity", "container", "service", "body", "trace_id")

RESOURCE_COLUMNS = ("ts", "container", "cpu_ms", "elapsed_ms", "memory_bytes", "memory_limit")

VITAL_COLUMNS = ("ts", "release", "path", "device", "metric", "value")
"""One value that the browser of a visitor has measured."""

SPAN_COLUMNS = (
    *("ts", "trace_id", "span_id", "parent_id", "service", "name", "duration_us", "status", "status_code"),
)
"""A part of a request. `ts` is when it began."""

COLUMNS: dict[StreamName, tuple[str, ...]] = {
    "requests": REQUEST_COLUMNS,
    "logs": LOG_COLUMNS,
    "resources": RESOURCE_COLUMNS,
    "vitals": VITAL_COLUMNS,
    "spans": SPAN_COLUMNS,
}

MAX_MOMENT = 9_999_999_999
MAX_COUNT = 10**12

Moment = Annotated[float, Meta(ge=0, le=MAX_MOMENT)]
"""In seconds since 1970, by the clock of the node."""
Count = Annotated[int, Meta(ge=0, le=MAX_COUNT)]


FIRST_COLUMNS: dict[StreamName, int] = {"requests": 18}
"""How many values the rows of a stream had before columns were added to it. Nodes of that time do not say
how many they send."""


class Part(Struct, frozen=True):
    """How many rows there are of one environment."""

    environment: Identifier
    rows: Annotated[int, Meta(ge=1, le=MAX_ROWS)]


class ChunkHead(Struct, frozen=True):
    stream: StreamName
    parts: Annotated[tuple[Part, ...], Meta(max_length=MAX_PARTS)]
    columns: Annotated[int, Meta(ge=0, le=100)] = 0
    """How many values a row has behind the environment: the first ones of the stream's columns."""


class Gap(Struct, frozen=True):
    """Rows that were lost: the node could not send them for too long, and its buffer is bounded."""

    stream: StreamName
    first: Moment
    last: Moment
    rows: Count


class Chunk(Struct, frozen=True):
    id: Identifier
    """Unique on the node, also after its data was lost."""
    stream: StreamName
    size: Annotated[int, Meta(ge=1, le=MAX_CHUNK_BYTES)]
    sha256: Annotated[bytes, Meta(min_length=32, max_length=32)]
    rows: Annotated[int, Meta(ge=1, le=MAX_ROWS)]
    first: Moment
    last: Moment
    """The times of its oldest and its newest row."""
    until: Moment
    """This chunk and those before it contain everything up to then."""


class ChunkReport(Struct, frozen=True):
    """With a chunk: where may it be put, or, if it is `stored`, that it was. Without one: nothing waits."""

    node: Identifier
    id: Identifier
    """Random. The answer is published under it."""
    until: Moment
    chunk: Chunk | None = None
    stored: bool = False
    gaps: Annotated[tuple[Gap, ...], Meta(max_length=MAX_GAPS)] = ()


class ReportSender(Struct, frozen=True):
    """Who has sent a report, read also if the rest of it is malformed."""

    node: Identifier
    id: Identifier


class ChunkAnswer(Struct, frozen=True):
    """`recorded`: the node may forget what it has reported. `refused`: the chunk is not wanted. `malformed`:
    it never will be, because the report about it cannot be read."""

    url: str = ""
    """Where the chunk may be put."""
    recorded: bool = False
    refused: bool = False
    malformed: bool = False


encode = msgspec.msgpack.encode
read_report = msgspec.msgpack.Decoder(ChunkReport).decode
read_sender = msgspec.msgpack.Decoder(ReportSender).decode
read_answer = msgspec.msgpack.Decoder(ChunkAnswer).decode
encode_head = msgspec.json.encode
read_head = msgspec.json.Decoder(ChunkHead).decode
_read_chunk = msgspec.msgpack.Decoder(Chunk).decode


def is_valid(chunk: Chunk) -> bool:
    """Whether a report about it can be read: creating a Chunk does not check its values."""
    try:
        _read_chunk(encode(chunk))
    except msgspec.MsgspecError:
        return False
    return True
