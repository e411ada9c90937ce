"""The control plane's side of the edge feed: publishes records, and waits until edges have applied them."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager

from msgspec import ValidationError, convert

from stead.control.engines.nats import (
    MESSAGE_TTL,
    NATS_UNREACHABLE,
    Client,
    JetStreamContext,
    Message,
    Nats,
    NatsError,
    NatsNotFound,
    PubAck,
    Subscription,
)
from stead.protocol import subjects
from stead.protocol.edge_records import (
    BUCKET,
    DELETIONS_KEPT_SECONDS,
    PURGES_KEPT_SECONDS,
    AppliedRevision,
    EdgeRecord,
    PeerRecord,
    PurgeRecord,
    bucket_subject,
    decode_applied,
    encode,
    node_key,
)
from stead.protocol.subjects import APPLIED, Node, bucket_stream, consumer
from stead.shared.cancellation import raise_if_cancelled

WINDOW = 500
"""Records that are published before their acknowledgements are awaited."""
ACK_SECONDS = 10.0
FLUSH_SECONDS = 5
RECHECK_SECONDS = 2.0
RETRY_SECONDS = 0.2
_OPERATION, _DELETE = "KV-Operation", "DEL"


class FeedUnavailable(Exception):
    """NATS did not answer or refused. Trying again is harmless."""


class NotApplied(Exception):
    """Some edges did not apply a revision in time."""

    def __init__(self, revision: int, nodes: Collection[str]) -> None:
        self.revision, self.nodes = revision, tuple(sorted(nodes))
        super().__init__(f"revision {revision} was not applied by {', '.join(self.nodes)}")


class EdgeFeed:
    def __init__(self, nats_: Nats) -> None:
        self._nats = nats_
        self._client: Client | None = None
        self._context: JetStreamContext | None = None

    async def put(self, records: Mapping[str, EdgeRecord | None]) -> int:
        """Publish records in the given order; None deletes a record.

        Returns the highest revision: an edge that has applied it has applied all of the records. All keys
        must belong to one region, since an edge never receives the revisions of another.
        """
        if not records:
            raise ValueError("there is nothing to publish")
        if len({key.partition(".")[0] for key in records}) > 1:
            raise ValueError("the keys belong to more than one region")
        items, revision = list(records.items()), 0
        with _translate_errors():
            for start in range(0, len(items), WINDOW):
                revision = await self._put(items[start : start + WINDOW])
        return revision

    async def publish_peer(self, region: str, node: str, address: str) -> None:
        """Publish the address at which the region's other edges reach this node's edge, if it changed."""
        try:
            peer = convert({"address": address}, PeerRecord)
        except ValidationError:
            raise ValueError("this is not the address of an edge") from None
        key = node_key(region, node)
        if await self.read_record(key) != encode(peer):
            await self.put({key: peer})

    async def read_record(self, key: str) -> bytes | None:
        """Read a record as it was published; None if it does not exist or was deleted."""
        with _translate_errors():
            try:
                found = await self._jetstream.get_last_msg(
                    bucket_stream(BUCKET), bucket_subject(key), direct=True
                )
            except NatsNotFound:
                return None
        return None if (found.headers or {}).get(_OPERATION) else found.data or b""

    async def last_revision(self) -> int:
        with _translate_errors():
            return int((await self._jetstream.stream_info(bucket_stream(BUCKET))).state.last_seq)

    async def last_applied(self, node: str) -> AppliedRevision | None:
        """The last revision that the node reported as applied by its edge."""
        with _translate_errors():
            try:
                found = await self._jetstream.get_last_msg(APPLIED, subjects.applied(node), direct=True)
            except NatsNotFound:
                return None
        return decode_applied(found.data or b"")

    async def count_pending(self, node: str) -> int | None:
        """Count the records that the node has not fetched yet; None if the node was never admitted."""
        with _translate_errors():
            try:
                found = await self._jetstream.consumer_info(bucket_stream(BUCKET), consumer(Node(node)))
            except NatsNotFound:
                return None
        return found.num_pending or 0

    async def wait_until_applied(
        self, region: str, nodes: Collection[str], revision: int, within: float
    ) -> None:
        """Return when the edge of every given node has applied the revision.

        Raises NotApplied after `within` seconds.
        """
        missing = set(nodes)
        try:
            async with asyncio.timeout(within):
                while missing:
                    raise_if_cancelled()
                    try:
                        async with self._subscribe(missing) as reports:
                            await self._discard_applied(region, missing, revision)
                            await _receive_reports(reports, region, missing, revision)
                    except FeedUnavailable:
                        await asyncio.sleep(RETRY_SECONDS)
        except TimeoutError:
            raise NotApplied(revision, missing) from None

    async def _discard_applied(self, region: str, missing: set[str], revision: int) -> None:
        for node in tuple(missing):
            report = await self.last_applied(node)
            if report and report.region == region and report.revision >= revision:
                missing.discard(node)

    @asynccontextmanager
    async def _subscribe(self, nodes: Collection[str]) -> AsyncIterator[asyncio.Queue[AppliedRevision]]:
        """Receive the reports of nodes. Subscribe before reading the last ones, so that none is missed."""
        reports: asyncio.Queue[AppliedRevision] = asyncio.Queue()

        async def receive(message: Message) -> None:
            report = decode_applied(message.data)
            # The server enforces who publishes to a subject; the content is only the node's claim.
            if message.subject == subjects.applied(report.node):
                reports.put_nowait(report)

        async with contextlib.AsyncExitStack() as subscriptions:
            with _translate_errors():
                client = self._nats.client
                for node in tuple(nodes):
                    subscription = await client.subscribe(subjects.applied(node), cb=receive)
                    subscriptions.push_async_callback(_unsubscribe, subscription)
                await client.flush(timeout=FLUSH_SECONDS)
            yield reports

    async def _put(self, records: list[tuple[str, EdgeRecord | None]]) -> int:
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
        """One context per connection, because each context subscribes to acknowledgements separately."""
        client = self._nats.client
        if self._context is None or self._client is not client:
            self._client, self._context = client, client.jetstream(timeout=ACK_SECONDS)
        return self._context


async def _unsubscribe(subscription: Subscription) -> None:
    with contextlib.suppress(NatsError):
        await subscription.unsubscribe()


async def _receive_reports(
    reports: asyncio.Queue[AppliedRevision], region: str, missing: set[str], revision: int
) -> None:
    """Receive reports for a short time only: reports sent while NATS was disconnected must be read again."""
    try:
        async with asyncio.timeout(RECHECK_SECONDS):
            while missing:
                report = await reports.get()
                if report.region == region and report.revision >= revision:
                    missing.discard(report.node)
    except TimeoutError:
        return


@contextlib.contextmanager
def _translate_errors() -> Iterator[None]:
    """Raise FeedUnavailable, the one error that callers handle, for all errors of the library."""
    try:
        yield
    except NATS_UNREACHABLE as error:
        raise FeedUnavailable(type(error).__name__) from None


def _headers(record: EdgeRecord | None) -> dict[str, str] | None:
    match record:
        case None:
            return {_OPERATION: _DELETE, MESSAGE_TTL: str(DELETIONS_KEPT_SECONDS)}
        case PurgeRecord():
            return {MESSAGE_TTL: str(PURGES_KEPT_SECONDS)}
        case _:
            return None
