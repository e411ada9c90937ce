"""Creates the streams of the cell, and the consumers through which each node reads its commands and the edge
records of its region."""

import contextlib
import time

import structlog
from nats.js.api import AckPolicy, ConsumerConfig, DiscardPolicy, StorageType, StreamConfig
from nats.js.errors import BadRequestError, ServerError

from stead.control.engines.nats import Nats, NatsNotFound
from stead.protocol.streams import (
    EDGE_MB,
    MB,
    OUTPUT_MB,
    ConsumerSpec,
    StreamSpec,
    commands_consumer,
    edge_consumer,
    stream_specs,
)
from stead.protocol.subjects import EDGE_BUCKET, Node, bucket_stream, consumer

_INSUFFICIENT_STORAGE = 10047

log = structlog.get_logger()


class StorageInsufficient(Exception):
    """NATS cannot reserve the space of a stream. The operator must give it more."""


async def list_missing(nats_: Nats) -> list[str]:
    """The streams that do not exist: in a new installation, or because NATS has lost its data."""
    missing = []
    for stream in stream_specs():
        try:
            await nats_.js.stream_info(stream.name)
        except NatsNotFound:
            missing.append(stream.name)
    return missing


async def ensure_streams(nats_: Nats, *, output_mb: int = OUTPUT_MB, edge_mb: int = EDGE_MB) -> None:
    """Raises StorageInsufficient."""
    for stream in stream_specs(output_mb=output_mb, edge_mb=edge_mb):
        await _ensure_stream(nats_, stream)


async def _ensure_stream(nats_: Nats, stream: StreamSpec) -> None:
    config = stream_config(stream)
    try:
        try:
            await nats_.js.add_stream(config)
        except BadRequestError:
            found = await nats_.js.stream_info(stream.name)
            await nats_.js.update_stream(config.evolve(first_seq=found.config.first_seq))
    except ServerError as error:
        if error.err_code != _INSUFFICIENT_STORAGE:
            raise
        megabytes = stream.max_bytes // MB
        log.error("nats.storage_insufficient", stream=stream.name, megabytes=megabytes)
        raise StorageInsufficient(
            f"NATS has no {megabytes} MB for the stream {stream.name}: increase max_file_store"
        ) from None


async def ensure_consumers(nats_: Nats, node: str, region: str) -> None:
    """Create both consumers of a node."""
    await ensure_commands_consumer(nats_, node)
    await ensure_edge_consumer(nats_, node, region)


async def ensure_commands_consumer(nats_: Nats, node: str) -> None:
    commands = commands_consumer(Node(node))
    await nats_.js.add_consumer(commands.stream, consumer_config(commands))


async def ensure_edge_consumer(nats_: Nats, node: str, region: str) -> None:
    """The region is that of the node's enrolment, never one that the node claims."""
    records = edge_consumer(Node(node), region)
    try:
        found = await nats_.js.consumer_info(records.stream, records.durable)
    except NatsNotFound:
        found = None
    if found is not None and found.config.filter_subject != records.filter_subject:
        log.warning("node.moved", node=node, region=region)
        await nats_.js.delete_consumer(records.stream, records.durable)
        found = None
    if found is None:
        await nats_.js.add_consumer(records.stream, consumer_config(records))


async def delete_consumers(nats_: Nats, node: str) -> None:
    """Delete the consumers of a node that is removed."""
    for stream in (commands_consumer(Node(node)).stream, bucket_stream(EDGE_BUCKET)):
        with contextlib.suppress(NatsNotFound):
            await nats_.js.delete_consumer(stream, consumer(Node(node)))


def stream_config(stream: StreamSpec) -> StreamConfig:
    return StreamConfig(
        name=stream.name,
        subjects=[stream.subject],
        max_age=stream.max_age.total_seconds(),
        duplicate_window=stream.duplicate_window.total_seconds(),
        max_msgs_per_subject=stream.max_per_subject or -1,
        max_bytes=stream.max_bytes,
        discard=DiscardPolicy.OLD if stream.removes_oldest else DiscardPolicy.NEW,
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
