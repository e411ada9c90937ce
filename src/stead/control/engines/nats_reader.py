"""Reads a subject of a NATS stream from any position on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.client import JetStreamContext

from stead.control.engines.nats import Nats, NatsDown, NatsError

BATCH = 256
FETCH_SECONDS = 5.0
"""A fetch that was lost in a restart of the server is noticed after this long."""
RETRY_SECONDS = 0.5
INACTIVE_SECONDS = 60.0
"""The server deletes a consumer that nobody has asked for messages for this long, for example after the
connection was lost."""

UNREADABLE = (NatsDown, NatsError, OSError)
Messages = list[tuple[int, str, bytes]]
"""The position of each message in the stream, its subject and its data."""


class StreamReader:
    """Reads the messages after a position. After a lost connection, the next call connects again."""

    def __init__(self, nats_: Nats, stream: str, subject: str, *, after: int) -> None:
        self._nats, self._stream, self._subject, self._after = nats_, stream, subject, after
        self._consumer = ConsumerConfig()
        self._opening: asyncio.Task[JetStreamContext.PullSubscription] | None = None

    async def next(self) -> Messages:
        """Wait a while for more messages. Empty if none arrived."""
        try:
            return await self._fetch()
        except UNREADABLE:
            await self.close()
            await asyncio.sleep(RETRY_SECONDS)
            return []

    async def rest(self) -> AsyncIterator[Messages]:
        """Every message that is stored by now. Raises one of UNREADABLE if they cannot be read."""
        pull = await self._open()
        while (await pull.consumer_info()).num_pending:
            yield await self._fetch()

    async def close(self) -> None:
        """Delete the consumer. The library leaves it to time out, so many reconnecting clients would pile up
        consumers. May be called again after a cancellation.

        The server may carry out a deletion before a creation that was requested earlier, so the creation is
        waited for.
        """
        if self._opening is None:
            return
        with contextlib.suppress(Exception):
            pull = await asyncio.shield(self._opening)
            await pull.unsubscribe()
        if self._consumer.name is not None:
            with contextlib.suppress(Exception):
                await self._nats.js.delete_consumer(self._stream, self._consumer.name)
        self._opening = None

    async def _fetch(self) -> Messages:
        pull = await self._open()
        try:
            fetched = await pull.fetch(BATCH, timeout=FETCH_SECONDS)
        except TimeoutError:
            return []
        messages = [(message.metadata.sequence.stream, message.subject, message.data) for message in fetched]
        if messages:  # a fetch may also end without any
            self._after = messages[-1][0]
        return messages

    async def _open(self) -> JetStreamContext.PullSubscription:
        if self._opening is None:
            self._opening = asyncio.create_task(self._create_consumer())
        return await asyncio.shield(self._opening)

    async def _create_consumer(self) -> JetStreamContext.PullSubscription:
        self._consumer = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._after + 1,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=INACTIVE_SECONDS,
            mem_storage=True,
        )
        return await self._nats.js.pull_subscribe(self._subject, stream=self._stream, config=self._consumer)
