"""The JetStream streams and consumers: how long messages are kept, and how nodes read them. Plain values, so
that the worker that creates them, the development stack and the tests use the same ones."""

from dataclasses import dataclass
from datetime import timedelta

from stead.protocol.edge_records import region_subjects
from stead.protocol.subjects import (
    APPLIED,
    COMMANDS,
    EDGE_BUCKET,
    OUTPUT,
    REPORTS,
    SESSIONS,
    STREAMS,
    Node,
    bucket_keys,
    bucket_stream,
    commands_of,
    consumer,
    state_buckets,
)

DUPLICATES = timedelta(minutes=2)
"""A second message with the same `Nats-Msg-Id` within this time is acknowledged and not stored."""
FOR_EVER = timedelta(0)
MB = 1 << 20
OUTPUT_MB, EDGE_MB = 4096, 2048
"""The defaults of two settings of the worker."""
MESSAGES_MB, APPLIED_MB = 512, 16
STATE_MB = 256
"""Of each bucket with the state of functions."""


@dataclass(frozen=True)
class StreamSpec:
    """Any number of consumers may read a stream; reading removes nothing."""

    name: str
    subject: str
    max_age: timedelta
    max_bytes: int
    """NATS reserves so much space for the stream, so that no other stream can take it."""
    removes_oldest: bool = False
    """When the stream is full, its oldest messages are removed. Otherwise new ones are refused."""
    duplicate_window: timedelta = DUPLICATES
    max_per_subject: int | None = None
    messages_may_expire: bool = False
    """A message may set its own expiry."""
    numbered_by_time: bool = False
    """Its first sequence number is the time of its creation in milliseconds. A stream that is created again
    after a loss therefore continues above all numbers of the lost one."""


@dataclass(frozen=True)
class ConsumerSpec:
    """A durable pull consumer. A node acknowledges an order once its journal has recorded it. For edge
    records the node stores the position itself and acknowledges nothing."""

    stream: str
    durable: str
    filter_subject: str
    ack_wait: timedelta = timedelta(seconds=30)
    max_ack_pending: int = 64
    acknowledged: bool = True


def stream_specs(*, output_mb: int = OUTPUT_MB, edge_mb: int = EDGE_MB) -> tuple[StreamSpec, ...]:
    return (
        StreamSpec(
            COMMANDS,
            STREAMS[COMMANDS],
            max_age=timedelta(days=1),
            max_bytes=MESSAGES_MB * MB,
            removes_oldest=True,
        ),
        StreamSpec(
            REPORTS,
            STREAMS[REPORTS],
            max_age=timedelta(days=7),
            max_bytes=MESSAGES_MB * MB,
            removes_oldest=True,
        ),
        StreamSpec(
            OUTPUT,
            STREAMS[OUTPUT],
            max_age=timedelta(days=30),
            max_bytes=output_mb * MB,
            removes_oldest=True,
            max_per_subject=250_000,
        ),
        StreamSpec(APPLIED, STREAMS[APPLIED], max_age=FOR_EVER, max_bytes=APPLIED_MB * MB, max_per_subject=1),
        *(
            StreamSpec(
                bucket_stream(bucket),
                bucket_keys(bucket),
                max_age=FOR_EVER,
                max_bytes=STATE_MB * MB,
                max_per_subject=1,
                messages_may_expire=True,
                numbered_by_time=True,
            )
            for bucket in state_buckets()
        ),
        StreamSpec(
            bucket_stream(EDGE_BUCKET),
            bucket_keys(EDGE_BUCKET),
            max_age=FOR_EVER,
            max_bytes=edge_mb * MB,
            max_per_subject=1,
            messages_may_expire=True,
            numbered_by_time=True,
        ),
    )


def commands_consumer(node: Node) -> ConsumerSpec:
    return ConsumerSpec(COMMANDS, consumer(node), commands_of(node.id))


def sessions_consumer() -> ConsumerSpec:
    """All workers share it."""
    return ConsumerSpec(REPORTS, "sessions", SESSIONS)


def edge_consumer(node: Node, region: str) -> ConsumerSpec:
    return ConsumerSpec(
        bucket_stream(EDGE_BUCKET), consumer(node), region_subjects(region), acknowledged=False
    )
