"""Makes the streams of the cell, and the consumers through which each node gets its orders and its edge's
records."""

import time

import structlog
from nats.js.api import AckPolicy, ConsumerConfig, StorageType, StreamConfig
from nats.js.errors import BadRequestError

from stead.control.engines.nats import Nats, NatsNotFound
from stead.protocol.streams import Consumer, Stream, commands_consumer, edge_consumer, streams
from stead.protocol.subjects import Node

log = structlog.get_logger()


async def ensure_streams(nats_: Nats) -> None:
    for wanted in streams():
        config = stream_config(wanted)
        try:
            await nats_.js.add_stream(config)
        except BadRequestError:
            found = await nats_.js.stream_info(wanted.name)
            await nats_.js.update_stream(config.evolve(first_seq=found.config.first_seq))


async def ensure_consumers(nats_: Nats, node: str, region: str) -> bool:
    """Whether the node may see what the edges of the region are told."""
    orders = commands_consumer(Node(node))
    await nats_.js.add_consumer(orders.stream, consumer_config(orders))
    records = edge_consumer(Node(node), region)
    try:
        found = await nats_.js.consumer_info(records.stream, records.durable)
    except NatsNotFound:
        await nats_.js.add_consumer(records.stream, consumer_config(records))
        return True
    # A node says itself where it stands. It may not come to see another region by saying otherwise later.
    if found.config.filter_subject != records.filter_subject:
        log.warning("node.region_refused", node=node, region=region)
        return False
    return True


def stream_config(wanted: Stream) -> StreamConfig:
    return StreamConfig(
        name=wanted.name,
        subjects=[wanted.subject],
        max_age=wanted.max_age.total_seconds(),
        duplicate_window=wanted.duplicate_window.total_seconds(),
        max_msgs_per_subject=wanted.max_per_subject or -1,
        storage=StorageType.FILE,
        allow_direct=True,
        allow_msg_ttl=wanted.messages_may_expire,
        first_seq=time.time_ns() // 1_000_000 if wanted.numbered_by_time else None,
    )


def consumer_config(wanted: Consumer) -> ConsumerConfig:
    if not wanted.acknowledged:
        return ConsumerConfig(
            durable_name=wanted.durable, filter_subject=wanted.filter_subject, ack_policy=AckPolicy.NONE
        )
    return ConsumerConfig(
        durable_name=wanted.durable,
        filter_subject=wanted.filter_subject,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=wanted.ack_wait.total_seconds(),
        max_ack_pending=wanted.max_ack_pending,
    )
