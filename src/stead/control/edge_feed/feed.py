"""The control plane's end of the feed: tell the edges of a region, and wait until they have applied it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager

import nats.errors
import nats.js.errors
from msgspec import ValidationError, convert
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext
from nats.js.api import Header, PubAck

from stead.control.engines.nats import Nats, NatsDown
from stead.protocol import subjects
from stead.protocol.edge import (
    BUCKET,
    DELETIONS_KEPT_SECONDS,
    PURGES_KEPT_SECONDS,
    Applied,
    Peer,
    Purge,
    Record,
    bucket_subject,
    decode_applied,
    encode,
    node_key,
)
from stead.protocol.subjects import APPLIED, Node, bucket_stream, consumer
from stead.shared.cancellation import heed_cancellation

WINDOW = 500
"""Records on their way at once."""
ACK_SECONDS = 10.0
FLUSH_SECONDS = 5
LOOK_AGAIN_SECONDS = 2.0
RETRY_SECONDS = 0.2
_OPERATION, _DELETE = "KV-Operation", "DEL"


class FeedUnavailable(Exception):
    """NATS did not take or give what was asked; asking again is harmless."""


class NotApplied(Exception):
    """Some edges have not come so far in time."""

    def __init__(self, revision: int, nodes: Collection[str]) -> None:
        self.revision, self.nodes = revision, tuple(sorted(nodes))
        super().__init__(f"revision {revision} was not applied by {', '.join(self.nodes)}")


class Edges:
    def __init__(self, nats_: Nats) -> None:
        self._nats = nats_
        self._client: Client | None = None
        self._context: JetStreamContext | None = None

    async def put(self, records: Mapping[str, Record | None]) -> int:
        """In the order given; None deletes. The highest revision: who applied that has applied all of them.

        The keys are of one region, since an edge never hears of another's revisions.
        """
        if not records:
            raise ValueError("there is nothing to put")
        if len({key.partition(".")[0] for key in records}) > 1:
            raise ValueError("these keys are of more than one region")
        items, revision = list(records.items()), 0
        with _translated():
            for start in range(0, len(items), WINDOW):
                revision = await self._put(items[start : start + WINDOW])
        return revision

    async def introduce(self, region: str, node: str, address: str) -> None:
        """Where the other edges of the region find this node's; told only when it is new."""
        try:
            peer = convert({"address": address}, Peer)
        except ValidationError:
            raise ValueError("this is no address of an edge") from None
        key = node_key(region, node)
        if await self.read(key) != encode(peer):
            await self.put({key: peer})

    async def read(self, key: str) -> bytes | None:
        """A record as it was put."""
        with _translated():
            try:
                found = await self._jetstream.get_last_msg(
                    bucket_stream(BUCKET), bucket_subject(key), direct=True
                )
            except nats.js.errors.NotFoundError:
                return None
        return None if (found.headers or {}).get(_OPERATION) else found.data or b""

    async def last_revision(self) -> int:
        with _translated():
            return int((await self._jetstream.stream_info(bucket_stream(BUCKET))).state.last_seq)

    async def last_applied(self, node: str) -> Applied | None:
        """How far the node has said its edge has come."""
        with _translated():
            try:
                found = await self._jetstream.get_last_msg(APPLIED, subjects.applied(node), direct=True)
            except nats.js.errors.NotFoundError:
                return None
        return decode_applied(found.data or b"")

    async def unread(self, node: str) -> int | None:
        """How many records wait for the node to fetch them; None for one that was never admitted."""
        with _translated():
            try:
                found = await self._jetstream.consumer_info(bucket_stream(BUCKET), consumer(Node(node)))
            except nats.js.errors.NotFoundError:
                return None
        return found.num_pending or 0

    async def applied(self, region: str, nodes: Collection[str], revision: int, within: float) -> None:
        """Returns when the edge of every named node of the region has applied the revision."""
        missing = set(nodes)
        try:
            async with asyncio.timeout(within):
                while missing:
                    heed_cancellation()
                    try:
                        async with self._heard(missing) as heard:
                            await self._look(region, missing, revision)
                            await _listen(heard, region, missing, revision)
                    except FeedUnavailable:
                        await asyncio.sleep(RETRY_SECONDS)
        except TimeoutError:
            raise NotApplied(revision, missing) from None

    async def _look(self, region: str, missing: set[str], revision: int) -> None:
        for node in tuple(missing):
            if (it := await self.last_applied(node)) and it.region == region and it.revision >= revision:
                missing.discard(node)

    @asynccontextmanager
    async def _heard(self, nodes: Collection[str]) -> AsyncIterator[asyncio.Queue[Applied]]:
        """Listening before looking: what is said in between is not missed."""
        heard: asyncio.Queue[Applied] = asyncio.Queue()

        async def hear(message: Msg) -> None:
            it = decode_applied(message.data)
            # The subject is what the server vouches for; the rest a node only claims.
            if message.subject == subjects.applied(it.node):
                heard.put_nowait(it)

        async with contextlib.AsyncExitStack() as listening:
            with _translated():
                client = self._nats.client
                for node in tuple(nodes):
                    each = await client.subscribe(subjects.applied(node), cb=hear)
                    listening.push_async_callback(_unsubscribe, each)
                await client.flush(timeout=FLUSH_SECONDS)
            yield heard

    async def _put(self, records: list[tuple[str, Record | None]]) -> int:
        jetstream, acks = self._jetstream, list[asyncio.Future[PubAck]]()
        try:
            for key, record in records:
                data = b"" if record is None else encode(record)
                subject, headers = bucket_subject(key), _headers(record)
                acks.append(await jetstream.publish_async(subject, data, headers=headers))
            async with asyncio.timeout(ACK_SECONDS):
                return max(ack.seq for ack in await asyncio.gather(*acks))
        finally:
            for ack in acks:
                ack.cancel()

    @property
    def _jetstream(self) -> JetStreamContext:
        """The same one as long as the connection is: each listens to acknowledgements for itself."""
        client = self._nats.client
        if self._context is None or self._client is not client:
            self._client, self._context = client, client.jetstream(timeout=ACK_SECONDS)
        return self._context


async def _unsubscribe(listening: Subscription) -> None:
    with contextlib.suppress(nats.errors.Error):
        await listening.unsubscribe()


async def _listen(heard: asyncio.Queue[Applied], region: str, missing: set[str], revision: int) -> None:
    """For a while only: what is said while the connection is away is found by looking again."""
    try:
        async with asyncio.timeout(LOOK_AGAIN_SECONDS):
            while missing:
                it = await heard.get()
                if it.region == region and it.revision >= revision:
                    missing.discard(it.node)
    except TimeoutError:
        return


@contextlib.contextmanager
def _translated() -> Iterator[None]:
    """What the library raises, as the one error a caller has to know."""
    try:
        yield
    except (NatsDown, nats.errors.Error, OSError, TimeoutError) as error:
        raise FeedUnavailable(type(error).__name__) from None


def _headers(record: Record | None) -> dict[str, str] | None:
    match record:
        case None:
            return {_OPERATION: _DELETE, Header.MSG_TTL: str(DELETIONS_KEPT_SECONDS)}
        case Purge():
            return {Header.MSG_TTL: str(PURGES_KEPT_SECONDS)}
        case _:
            return None
