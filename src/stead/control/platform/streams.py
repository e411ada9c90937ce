"""Makes the streams of the cell, and the consumer through which each node gets its orders."""

import nats.js.errors
from nats.js.api import AckPolicy, ConsumerConfig, StorageType, StreamConfig

from stead.control.platform.nats import Nats
from stead.protocol.streams import Stream, commands_consumer, streams
from stead.protocol.subjects import Node


async def ensure_streams(nats_: Nats) -> None:
    for wanted in streams():
        config = _stream(wanted)
        try:
            await nats_.js.add_stream(config)
        except nats.js.errors.BadRequestError:
            await nats_.js.update_stream(config)


async def ensure_consumer(nats_: Nats, node: str) -> None:
    wanted = commands_consumer(Node(node))
    await nats_.js.add_consumer(
        wanted.stream,
        ConsumerConfig(
            durable_name=wanted.durable,
            filter_subject=wanted.filter_subject,
            ack_policy=AckPolicy.EXPLICIT,
            ack_wait=wanted.ack_wait.total_seconds(),
            max_ack_pending=wanted.max_ack_pending,
        ),
    )


def _stream(wanted: Stream) -> StreamConfig:
    return StreamConfig(
        name=wanted.name,
        subjects=[wanted.subject],
        max_age=wanted.max_age.total_seconds(),
        duplicate_window=wanted.duplicate_window.total_seconds(),
        max_msgs_per_subject=wanted.max_per_subject or -1,
        storage=StorageType.FILE,
        allow_direct=True,
    )
