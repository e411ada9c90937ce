"""Creates the streams of the cell, and the consumers through which each node reads its commands and the edge
records of its region."""

import time

import structlog
from nats.js.api import AckPolicy, ConsumerConfig, StorageType, StreamConfig
from nats.js.errors import BadRequestError

from stead.control.engines.nats import Nats, NatsNotFound
from stead.protocol.streams import ConsumerSpec, StreamSpec, commands_consumer, edge_consumer, stream_specs
from stead.protocol.subjects import Node

log = structlog.get_logger()


async def ensure_streams(nats_: Nats) -> None:
    for stream in stream_specs():
        config = stream_config(stream)
        try:
            await nats_.js.add_stream(config)
        except BadRequestError:
            found = await nats_.js.stream_info(stream.name)
            await nats_.js.update_stream(config.evolve(first_seq=found.config.first_seq))


async def ensure_consumers(nats_: Nats, node: str, region: str) -> bool:
    """Create the consumers of a node. False if it may not read the edge records of this region."""
    commands = commands_consumer(Node(node))
    await nats_.js.add_consumer(commands.stream, consumer_config(commands))
    records = edge_consumer(Node(node), region)
    try:
        found = await nats_.js.consumer_info(records.stream, records.durable)
    except NatsNotFound:
        await nats_.js.add_consumer(records.stream, consumer_config(records))
        return True
    # A node reports its own region. It must not gain access to another region by reporting a different one.
    if found.config.filter_subject != records.filter_subject:
        log.warning("node.region_refused", node=node, region=region)
        return False
    return True


def stream_config(stream: StreamSpec) -> StreamConfig:
    return StreamConfig(
        name=stream.name,
        subjects=[stream.subject],
        max_age=stream.max_age.total_seconds(),
        duplicate_window=stream.duplicate_window.total_seconds(),
        max_msgs_per_subject=stream.max_per_subject or -1,
        storage=StorageType.FILE,
        allow_direct=True,
        allow_msg_ttl=stream.messages_may_expire,
        first_seq=time.time_ns() // 1_000_000 if stream.numbered_by_time else None,
    )


def consumer_config(consumer: ConsumerSpec) -> ConsumerConfig:
    if not consumer.acknowledged:
        return ConsumerConfig(
            durable_name=consumer.durable, filter_subject=consumer.filter_subject, ack_policy=AckPolicy.NONE
        )
    return ConsumerConfig(
        durable_name=consumer.durable,
        filter_subject=consumer.filter_subject,
        ack_policy=AckPolicy.EXPLICIT,
        ack_wait=consumer.ack_wait.total_seconds(),
        max_ack_pending=consumer.max_ack_pending,
    )
