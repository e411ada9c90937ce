"""How long each stream keeps what it is told, and how a node's consumer behaves: plain values, so that the
worker that makes them, the development stack and the tests mean the same ones."""

from dataclasses import dataclass
from datetime import timedelta

from stead.protocol.subjects import COMMANDS, OUTPUT, REPORTS, STREAMS, Node, commands_of, consumer

DUPLICATES = timedelta(minutes=2)
"""A message whose `Nats-Msg-Id` was seen this recently is acknowledged and not kept again."""


@dataclass(frozen=True)
class Stream:
    """Kept by age alone: many may read, and reading removes nothing."""

    name: str
    subject: str
    max_age: timedelta
    duplicate_window: timedelta = DUPLICATES
    max_per_subject: int | None = None


@dataclass(frozen=True)
class Consumer:
    """Durable, pulled, explicitly acknowledged. A node acknowledges once its journal has the order."""

    stream: str
    durable: str
    filter_subject: str
    ack_wait: timedelta = timedelta(seconds=30)
    max_ack_pending: int = 64


def streams() -> tuple[Stream, ...]:
    return (
        Stream(COMMANDS, STREAMS[COMMANDS], max_age=timedelta(days=1)),
        Stream(REPORTS, STREAMS[REPORTS], max_age=timedelta(days=7)),
        Stream(OUTPUT, STREAMS[OUTPUT], max_age=timedelta(days=30), max_per_subject=250_000),
    )


def commands_consumer(node: Node) -> Consumer:
    return Consumer(COMMANDS, consumer(node), commands_of(node.id))
