"""A job's output, read from where its node writes it, from any point on."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats.errors
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy
from nats.js.client import JetStreamContext

from stead.control.engines.nats import Nats, NatsDown
from stead.protocol.commands import read_line
from stead.protocol.subjects import OUTPUT, output_of

BATCH = 256
PATIENCE = 5.0
"""A fetch that a restart of the server swallowed is noticed after this long."""
RETRY_SECONDS = 0.5

UNREADABLE = (NatsDown, nats.errors.Error, OSError)
Lines = list[tuple[int, str]]
"""Where a line stands in the stream, and its text."""


class Reader:
    """Reads on from a position. A lost connection is found again by whoever asks next."""

    def __init__(self, nats_: Nats, job: str, after: int) -> None:
        self._nats, self._job, self._after = nats_, job, after
        self._pull: JetStreamContext.PullSubscription | None = None
        self._consumer: ConsumerConfig | None = None

    async def next(self) -> Lines:
        """Some more lines, or none after a while without."""
        try:
            return await self._fetch(PATIENCE)
        except UNREADABLE:
            await self.close()
            await asyncio.sleep(RETRY_SECONDS)
            return []

    async def rest(self) -> AsyncIterator[Lines]:
        """Whatever is there by now. Raises one of UNREADABLE when that cannot be told."""
        pull = await self._open()
        while (await pull.consumer_info()).num_pending:
            yield await self._fetch(PATIENCE)

    async def close(self) -> None:
        """The library leaves the consumer to its timeout; a crowd that reconnects would pile them up."""
        pull, self._pull = self._pull, None
        made, self._consumer = self._consumer, None
        if pull is not None:
            with contextlib.suppress(Exception):
                await pull.unsubscribe()
        if made is not None and made.name is not None:
            with contextlib.suppress(Exception):
                await self._nats.js.delete_consumer(OUTPUT, made.name)

    async def _fetch(self, seconds: float) -> Lines:
        pull = self._pull or await self._open()
        try:
            messages = await pull.fetch(BATCH, timeout=seconds)
        except TimeoutError:
            return []
        lines = [(message.metadata.sequence.stream, read_line(message.data).text) for message in messages]
        self._after = lines[-1][0]
        return lines

    async def _open(self) -> JetStreamContext.PullSubscription:
        config = self._consumer = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._after + 1,
            ack_policy=AckPolicy.NONE,
            inactive_threshold=60.0,
            mem_storage=True,
        )
        self._pull = await self._nats.js.pull_subscribe(output_of(self._job), stream=OUTPUT, config=config)
        return self._pull


class JobOutput:
    def __init__(self, nats_: Nats) -> None:
        self._nats = nats_

    @asynccontextmanager
    async def reader(self, job: str, after: int) -> AsyncIterator[Reader]:
        reader = Reader(self._nats, job, after)
        try:
            yield reader
        finally:
            await reader.close()
