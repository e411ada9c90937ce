"""Reads records from NATS, through the consumer that the worker created for this node: in order, without
gaps, each as soon as it arrives.

Nothing is acknowledged. When the position is lost, the consumer is reset to the position of the store.
"""

import asyncio
from collections.abc import Callable

import msgspec
import nats.errors
import structlog
from msgspec import Struct
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription

from stead.node.feed.record_store import RecordChange, RecordStore
from stead.node.nats_connection import NatsConnection
from stead.protocol.edge_records import BUCKET, key_of_subject, region_subjects
from stead.protocol.subjects import Node, bucket_stream, consumer
from stead.shared.cancellation import raise_if_cancelled

BATCH = 1_000
BATCH_BYTES = 16 * 1024 * 1024
REQUEST_SECONDS = 30.0
HEARTBEAT_SECONDS = 0.5
SILENCE_SECONDS = 3 * HEARTBEAT_SECONDS
"""The server sends a heartbeat this often; without one, the connection or the request is lost."""
RESET_SECONDS = 5.0
PAUSE = 0.5

_NANO = 1_000_000_000
_OPERATION = "KV-Operation"
_HEARTBEAT, _ENDED = "100", ("404", "408")
_TOO_LARGE, _BATCH_COMPLETE = "Message Size Exceeds MaxBytes", "Batch Completed"

log = structlog.get_logger()


class PositionLost(Exception):
    """The position in the stream is lost; the message says why."""


class _Config(Struct, frozen=True):
    filter_subject: str = ""


class _Reset(Struct, frozen=True):
    """The server's response to the reset of a consumer."""

    created: str = ""
    config: _Config = _Config()
    num_pending: int = 0
    error: dict[str, object] | None = None


class _Delivery(Struct, frozen=True):
    change: RecordChange
    number: int
    pending: int


_read_reset = msgspec.json.Decoder(_Reset).decode


class RecordSource:
    def __init__(
        self,
        connection: NatsConnection,
        store: RecordStore,
        node: str,
        region: str,
        on_change: Callable[[], None],
    ) -> None:
        self._connection, self._store, self._on_change = connection, store, on_change
        self._keys = region_subjects(region)
        name = f"{bucket_stream(BUCKET)}.{consumer(Node(node))}"
        self._reset_subject = f"$JS.API.CONSUMER.RESET.{name}"
        self._next_subject = f"$JS.API.CONSUMER.MSG.NEXT.{name}"

    async def run(self) -> None:
        """Runs until it is cancelled."""
        last_error = ""
        while True:
            raise_if_cancelled()
            client = await self._connection.client()
            try:
                await self._follow(client)
            except (PositionLost, nats.errors.Error, OSError, msgspec.MsgspecError) as error:
                # The same error repeats until the consumer exists; it is logged once.
                if last_error != (last_error := str(error) or type(error).__name__):
                    log.info("feed.detached", reason=last_error)
                await asyncio.sleep(PAUSE)

    async def _follow(self, client: Client) -> None:
        pending, unproven = await self._attach(client)
        raise_if_cancelled()
        pull = _Pull(client, self._next_subject)
        subscription = await client.subscribe(pull.inbox, cb=pull.arrived.put)
        try:
            if not pending:
                self._apply([], last=True)
            while True:
                batch = await pull.next()
                if unproven and self._contradicts(batch[0].change):
                    self._store.begin_history("")
                    raise PositionLost("the server has another history")
                unproven = False
                self._apply([delivery.change for delivery in batch], last=batch[-1].pending == 0)
        finally:
            await _unsubscribe(subscription)

    async def _attach(self, client: Client) -> tuple[int, bool]:
        """Return how many records are pending, and whether the first one has to prove that the history is the
        same.

        The record at the position is requested again: if the server still has it or a newer one, its history
        was not rolled back.
        """
        progress = self._store.progress
        reset = await self._reset(client, progress.position or 1)
        history = f"{reset.created} {reset.config.filter_subject}"
        rolled_back = progress.position > 0 and reset.num_pending == 0
        if history == progress.history and not rolled_back and not self._store.is_outdated():
            return reset.num_pending, progress.position > 0
        log.info("feed.beginning", rolled_back=rolled_back)
        self._store.begin_history(history)
        return (await self._reset(client, 1)).num_pending, False

    async def _reset(self, client: Client, position: int) -> _Reset:
        response = await client.request(
            self._reset_subject, msgspec.json.encode({"seq": position}), timeout=RESET_SECONDS
        )
        reset: _Reset = _read_reset(response.data)
        if reset.error is not None:
            raise PositionLost(f"the consumer was not set back ({reset.error.get('code')})")
        if reset.config.filter_subject != self._keys:
            raise PositionLost("the consumer is of another region")
        return reset

    def _contradicts(self, first: RecordChange) -> bool:
        known = self._store.progress
        if first.revision == known.position:
            return first.at != known.at
        return first.revision < known.position

    def _apply(self, changes: list[RecordChange], *, last: bool) -> None:
        self._store.apply(changes, last=last)
        self._on_change()


class _Pull:
    """Keeps one request for records open, and returns what has arrived without waiting for more."""

    def __init__(self, client: Client, subject: str) -> None:
        self._client, self._subject, self.inbox = client, subject, client.new_inbox()
        self.arrived: asyncio.Queue[Msg] = asyncio.Queue()
        """Its length is limited by the size of the request."""
        self._requested = self._number = 0

    async def next(self) -> list[_Delivery]:
        batch: list[_Delivery] = []
        while not batch or (not self.arrived.empty() and len(batch) < BATCH):
            await self._request()
            message = await self._next()
            if status := (message.headers or {}).get("Status"):
                self._handle_status(status, message)
            else:
                batch.append(self._check_order(message))
        await self._request()
        return batch

    async def _next(self) -> Msg:
        if not self.arrived.empty():
            return self.arrived.get_nowait()
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                return await self.arrived.get()
        except TimeoutError:
            raise PositionLost("the server is silent") from None

    async def _request(self) -> None:
        if self._requested:
            return
        self._requested = BATCH
        request = {
            "batch": BATCH,
            "max_bytes": BATCH_BYTES,
            "expires": int(REQUEST_SECONDS * _NANO),
            "idle_heartbeat": int(HEARTBEAT_SECONDS * _NANO),
        }
        await self._client.publish(self._subject, msgspec.json.encode(request), reply=self.inbox)

    def _handle_status(self, status: str, message: Msg) -> None:
        description = (message.headers or {}).get("Description", "")
        if status in _ENDED or description == _TOO_LARGE:
            self._requested = 0
        # The end of a batch is known by counting, and the next batch is already requested.
        elif status != _HEARTBEAT and description != _BATCH_COMPLETE:
            raise PositionLost(f"the server says {status} {description}")

    def _check_order(self, message: Msg) -> _Delivery:
        delivery = _parse(message)
        if delivery.number != self._number + 1:
            raise PositionLost("a record is missing")
        self._number = delivery.number
        self._requested -= 1
        return delivery


def _parse(message: Msg) -> _Delivery:
    """The position of a message is in the subject for its acknowledgement."""
    words = message.reply.split(".")
    if len(words) < 9:
        raise PositionLost("a record without a position")
    revision, number, at, pending = (int(word) for word in words[-4:])
    deleted = _OPERATION in (message.headers or {})
    change = RecordChange(key_of_subject(message.subject), revision, at, None if deleted else message.data)
    return _Delivery(change, number, pending)


async def _unsubscribe(subscription: Subscription) -> None:
    try:
        await subscription.unsubscribe()
    except nats.errors.Error:
        return
