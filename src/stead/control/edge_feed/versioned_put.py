"""Publishes edge records unless newer ones are published already.

The version of a record comes from the transaction that read what it was built from. A worker that stalls
after this transaction cannot overwrite what another worker has published in the meantime: it compares
versions, and the server accepts a record only if nothing was published for its key since the comparison.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from stead.control.edge_feed.record_messages import EdgeMessage
from stead.control.engines.nats import JetStreamContext, NatsApiError, NatsNotFound
from stead.protocol.edge_records import BUCKET
from stead.protocol.subjects import bucket_stream

VERSION = "Stead-Version"
ACK_SECONDS = 10.0
READS_AT_ONCE = 32
_EXPECTED = "Nats-Expected-Last-Subject-Sequence"
_WRONG_LAST_SEQUENCE = 10071


@dataclass(frozen=True, slots=True)
class _Published:
    """The last message of a key; all zero if there is none."""

    revision: int = 0
    version: int = 0


async def put_newer(jetstream: JetStreamContext, messages: Sequence[EdgeMessage], version: int) -> int:
    """Publish the messages in their order.

    Returns the highest revision of the keys: of what was published now, or of what was newer already.
    """
    reached = 0
    for message, last in zip(messages, await _read_all(jetstream, messages), strict=True):
        reached = max(reached, await _put_message(jetstream, message, last, version))
    return reached


async def _put_message(
    jetstream: JetStreamContext, message: EdgeMessage, last: _Published, version: int
) -> int:
    while last.version < version:
        headers = {**message.headers, VERSION: str(version), _EXPECTED: str(last.revision)}
        try:
            # Not `publish_async`: it does not pass errors of the server on.
            ack = await jetstream.publish(message.subject, message.data, timeout=ACK_SECONDS, headers=headers)
        except NatsApiError as error:
            if error.err_code != _WRONG_LAST_SEQUENCE:
                raise
            # Another worker has published this key since it was read.
            (last,) = await _read_all(jetstream, [message])
        else:
            return ack.seq
    return last.revision


async def _read_all(jetstream: JetStreamContext, messages: Sequence[EdgeMessage]) -> list[_Published]:
    slots = asyncio.Semaphore(READS_AT_ONCE)

    async def read(message: EdgeMessage) -> _Published:
        async with slots:
            try:
                found = await jetstream.get_last_msg(bucket_stream(BUCKET), message.subject, direct=True)
            except NatsNotFound:
                return _Published()
        return _Published(found.seq or 0, int((found.headers or {}).get(VERSION, "0")))

    return await asyncio.gather(*map(read, messages))
