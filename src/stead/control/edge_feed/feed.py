"""The control plane's side of the edge feed: publishes records, and waits until edges have applied them."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Collection, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import datetime

from msgspec import MsgspecError, ValidationError, convert

from stead.control.edge_feed.purge_limiter import PurgeLimiter
from stead.control.edge_feed.record_messages import OPERATION, EdgeMessage, message_of
from stead.control.edge_feed.versioned_put import put_newer
from stead.control.engines.nats import (
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
    AppliedRevision,
    EdgeRecord,
    PeerRecord,
    bucket_subject,
    complete_key,
    decode_applied,
    encode,
    key_of_subject,
    node_key,
)
from stead.protocol.subjects import APPLIED, Node, bucket_stream, consumer, token
from stead.shared.cancellation import raise_if_cancelled

WINDOW = 500
"""Records that are published before their acknowledgements are awaited."""
ACK_SECONDS = 10.0
FLUSH_SECONDS = 5
RECHECK_SECONDS = 2.0
RETRY_SECONDS = 0.2
SUBJECTS_IN_A_PAGE = 100_000
"""How many subjects NATS lists in one response."""


class FeedUnavailable(Exception):
    """NATS did not answer or refused. Trying again is harmless."""


class NotApplied(Exception):
    """Some edges did not apply a revision in time, or have no room for its records."""

    def __init__(self, revision: int, nodes: Collection[str]) -> None:
        self.revision, self.nodes = revision, tuple(sorted(nodes))
        super().__init__(f"revision {revision} was not applied by {', '.join(self.nodes)}")


class EdgeFeed:
    def __init__(self, nats_: Nats) -> None:
        self._nats = nats_
        self._client: Client | None = None
        self._context: JetStreamContext | None = None
        self._purges = PurgeLimiter(self._list_keys)

    async def put(self, records: Mapping[str, EdgeRecord | None], version: int | None = None) -> int:
        """Publish records in the given order; None deletes a record. With a version, a record that is newer
        than that is kept.

        Returns the highest revision: an edge that has applied it has applied all of the records. All keys
        must belong to one region, since an edge never receives the revisions of another.
        """
        if not records:
            raise ValueError("there is nothing to publish")
        if len({key.partition(".")[0] for key in records}) > 1:
            raise ValueError("the keys belong to more than one region")
        revision = 0
        with _translate_errors():
            limited = await self._purges.limit(records)
            messages = [message_of(key, record) for key, record in limited.items()]
            for start in range(0, len(messages), WINDOW):
                window = messages[start : start + WINDOW]
                if version is None:
                    reached = await self._put(window)
                else:
                    reached = await put_newer(self._jetstream, window, version)
                revision = max(revision, reached)
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
        return None if (found.headers or {}).get(OPERATION) else found.data or b""

    async def is_complete(self, region: str) -> bool:
        """Whether the bucket holds every record of the region: a bucket that was lost and created again does
        not."""
        return await self.read_record(complete_key(region)) is not None

    async def list_keys(self, region: str) -> list[str]:
        """The keys of all records of a region, and of records that were deleted lately."""
        with _translate_errors():
            return await self._list_keys(f"{region}.")

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
        return _decode_applied(node, found.data or b"")

    async def count_pending(self, node: str) -> int | None:
        """Count the records that the node has not fetched yet; None if the node was never admitted."""
        with _translate_errors():
            try:
                found = await self._jetstream.consumer_info(bucket_stream(BUCKET), consumer(Node(node)))
            except NatsNotFound:
                return None
        return found.num_pending or 0

    async def oldest_unapplied(self, region: str, node: str) -> datetime | None:
        """When the oldest record was published that the node's edge has not applied; None if it has applied
        all of its region."""
        report = await self.last_applied(node)
        after = report.revision if report is not None and report.region == region else 0
        with _translate_errors():
            try:
                found = await self._jetstream.get_msg(
                    bucket_stream(BUCKET),
                    seq=after + 1,
                    subject=bucket_subject(f"{token(region)}.>"),
                    direct=True,
                    next=True,
                )
            except NatsNotFound:
                return None
        return found.time

    async def find_skipping(self, nodes: Collection[str], keys: Collection[str]) -> set[str]:
        """The nodes whose edges had no room for one of these records."""
        skipping = set()
        for node in nodes:
            report = await self.last_applied(node)
            if report is not None and not set(report.skipped_keys).isdisjoint(keys):
                skipping.add(node)
        return skipping

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
            if report := _decode_applied(message.subject.split(".")[1], message.data):
                reports.put_nowait(report)

        async with contextlib.AsyncExitStack() as subscriptions:
            with _translate_errors():
                client = self._nats.client
                for node in tuple(nodes):
                    subscription = await client.subscribe(subjects.applied(node), cb=receive)
                    subscriptions.push_async_callback(_unsubscribe, subscription)
                await self._nats.flush(FLUSH_SECONDS)
            yield reports

    async def _put(self, messages: list[EdgeMessage]) -> int:
        jetstream, acks = self._jetstream, list[asyncio.Future[PubAck]]()
        try:
            for subject, data, headers in messages:
                acks.append(await jetstream.publish_async(subject, data, headers=headers or None))
            async with asyncio.timeout(ACK_SECONDS):
                return max(ack.seq for ack in await asyncio.gather(*acks))
        finally:
            for ack in acks:
                ack.cancel()

    async def _list_keys(self, prefix: str) -> list[str]:
        """The keys of the bucket that begin with a prefix, which ends with a dot."""
        keys: list[str] = []
        while True:
            # Not `stream_info`: it returns only the first page of the subjects.
            asked = {"subjects_filter": bucket_subject(f"{prefix}>"), "offset": len(keys)}
            response = await self._nats.client.request(
                f"$JS.API.STREAM.INFO.{bucket_stream(BUCKET)}",
                json.dumps(asked).encode(),
                timeout=ACK_SECONDS,
            )
            answer = json.loads(response.data)
            if "error" in answer:
                raise FeedUnavailable(str(answer["error"].get("code")))
            found = answer["state"].get("subjects") or {}
            keys += [key_of_subject(subject) for subject in found]
            if len(found) < SUBJECTS_IN_A_PAGE:
                return keys

    @property
    def _jetstream(self) -> JetStreamContext:
        """One context per connection, because each context subscribes to acknowledgements separately."""
        client = self._nats.client
        if self._context is None or self._client is not client:
            self._client, self._context = client, client.jetstream(timeout=ACK_SECONDS)
        return self._context


def _decode_applied(node: str, data: bytes) -> AppliedRevision | None:
    """The report of a node. None for anything else: NATS sends its replies to any subject that a client
    names, so another node can cause such a message."""
    try:
        report = decode_applied(data)
    except MsgspecError:
        return None
    return report if report.node == node else None


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
