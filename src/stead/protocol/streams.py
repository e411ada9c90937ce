"""How long each stream keeps what it is told, and how a node's consumer behaves: plain values, so that the
worker that makes them, the development stack and the tests mean the same ones."""

from dataclasses import dataclass
from datetime import timedelta

from stead.protocol.edge import keys_of
from stead.protocol.subjects import (
    APPLIED,
    COMMANDS,
    EDGE_BUCKET,
    OUTPUT,
    REPORTS,
    STREAMS,
    Node,
    bucket_keys,
    bucket_stream,
    commands_of,
    consumer,
)

DUPLICATES = timedelta(minutes=2)
"""A message whose `Nats-Msg-Id` was seen this recently is acknowledged and not kept again."""
FOR_EVER = timedelta(0)


@dataclass(frozen=True)
class Stream:
    """Many may read, and reading removes nothing."""

    name: str
    subject: str
    max_age: timedelta
    duplicate_window: timedelta = DUPLICATES
    max_per_subject: int | None = None
    messages_may_expire: bool = False
    """A message may say how long it is kept."""
    numbered_by_time: bool = False
    """Its first number is the time it was made, in milliseconds: made anew after a loss, it goes on above
    every number it ever gave."""


@dataclass(frozen=True)
class Consumer:
    """Durable and pulled. A node acknowledges an order once its journal has it; of the edge's records it
    keeps the position itself, and nothing is acknowledged."""

    stream: str
    durable: str
    filter_subject: str
    ack_wait: timedelta = timedelta(seconds=30)
    max_ack_pending: int = 64
    acknowledged: bool = True


def streams() -> tuple[Stream, ...]:
    return (
        Stream(COMMANDS, STREAMS[COMMANDS], max_age=timedelta(days=1)),
        Stream(REPORTS, STREAMS[REPORTS], max_age=timedelta(days=7)),
        Stream(OUTPUT, STREAMS[OUTPUT], max_age=timedelta(days=30), max_per_subject=250_000),
        Stream(APPLIED, STREAMS[APPLIED], max_age=FOR_EVER, max_per_subject=1),
        Stream(
            bucket_stream(EDGE_BUCKET),
            bucket_keys(EDGE_BUCKET),
            max_age=FOR_EVER,
            max_per_subject=1,
            messages_may_expire=True,
            numbered_by_time=True,
        ),
    )


def commands_consumer(node: Node) -> Consumer:
    return Consumer(COMMANDS, consumer(node), commands_of(node.id))


def edge_consumer(node: Node, region: str) -> Consumer:
    return Consumer(bucket_stream(EDGE_BUCKET), consumer(node), keys_of(region), acknowledged=False)
