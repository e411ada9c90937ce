"""Records out of NATS, through the consumer that the worker made for this node: in order, without a gap, each
as soon as it is there.

Nothing is acknowledged. Whenever this side has lost its place, it asks the server to set the consumer back to
the store's position and goes on from there.
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
BEAT_SECONDS = 0.5
SILENCE_SECONDS = 3 * BEAT_SECONDS
"""The server says so often that it is there; if not, the connection or the request is gone."""
RESET_SECONDS = 5.0
PAUSE = 0.5

_NANO = 1_000_000_000
_OPERATION = "KV-Operation"
_BEAT, _ENDED = "100", ("404", "408")
_TOO_BIG, _COUNTED = "Message Size Exceeds MaxBytes", "Batch Completed"

log = structlog.get_logger()


class PositionLost(Exception):
    """The place in the stream is lost; the message says how."""


class _Config(Struct, frozen=True):
    filter_subject: str = ""


class _Reset(Struct, frozen=True):
    """What the server says of a consumer that was set back."""

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
        self, link: NatsConnection, store: RecordStore, node: str, region: str, stored: Callable[[], None]
    ) -> None:
        self._link, self._store, self._stored = link, store, stored
        self._keys = region_subjects(region)
        place = f"{bucket_stream(BUCKET)}.{consumer(Node(node))}"
        self._reset_subject = f"$JS.API.CONSUMER.RESET.{place}"
        self._next_subject = f"$JS.API.CONSUMER.MSG.NEXT.{place}"

    async def run(self) -> None:
        """For ever."""
        said = ""
        while True:
            raise_if_cancelled()
            client = await self._link.client()
            try:
                await self._follow(client)
            except (PositionLost, nats.errors.Error, OSError, msgspec.MsgspecError) as error:
                # While there is no consumer yet, the same one comes again and again.
                if said != (said := str(error) or type(error).__name__):
                    log.info("feed.detached", reason=said)
                await asyncio.sleep(PAUSE)

    async def _follow(self, client: Client) -> None:
        pending, doubted = await self._attach(client)
        raise_if_cancelled()
        pull = _Pull(client, self._next_subject)
        listening = await client.subscribe(pull.inbox, cb=pull.arrived.put)
        try:
            if not pending:
                self._take([], last=True)
            while True:
                batch = await pull.next()
                if doubted and self._contradicts(batch[0].change):
                    self._store.begin("")
                    raise PositionLost("the server has another history")
                doubted = False
                self._take([it.change for it in batch], last=batch[-1].pending == 0)
        finally:
            await _unsubscribed(listening)

    async def _attach(self, client: Client) -> tuple[int, bool]:
        """How many records wait, and whether the first of them has to prove that the history is still ours.

        The record at the position is asked for again: while it or a newer one is there, nothing has been
        rolled back.
        """
        mine = self._store.progress
        told = await self._reset(client, mine.position or 1)
        history = f"{told.created} {told.config.filter_subject}"
        rolled_back = mine.position > 0 and told.num_pending == 0
        if history == mine.history and not rolled_back and not self._store.outdated():
            return told.num_pending, mine.position > 0
        log.info("feed.beginning", rolled_back=rolled_back)
        self._store.begin(history)
        return (await self._reset(client, 1)).num_pending, False

    async def _reset(self, client: Client, position: int) -> _Reset:
        answer = await client.request(
            self._reset_subject, msgspec.json.encode({"seq": position}), timeout=RESET_SECONDS
        )
        told: _Reset = _read_reset(answer.data)
        if told.error is not None:
            raise PositionLost(f"the consumer was not set back ({told.error.get('code')})")
        if told.config.filter_subject != self._keys:
            raise PositionLost("the consumer is of another region")
        return told

    def _contradicts(self, first: RecordChange) -> bool:
        mine = self._store.progress
        return first.revision < mine.position or (first.revision == mine.position and first.at != mine.at)

    def _take(self, changes: list[RecordChange], *, last: bool) -> None:
        self._store.take(changes, last=last)
        self._stored()


class _Pull:
    """One request for records stands at any time; what has arrived is taken without waiting for more."""

    def __init__(self, client: Client, subject: str) -> None:
        self._client, self._subject, self.inbox = client, subject, client.new_inbox()
        self.arrived: asyncio.Queue[Msg] = asyncio.Queue()
        """Bounded by what is asked for."""
        self._asked = self._number = 0

    async def next(self) -> list[_Delivery]:
        batch: list[_Delivery] = []
        while not batch or (not self.arrived.empty() and len(batch) < BATCH):
            await self._ask()
            message = await self._next()
            if status := (message.headers or {}).get("Status"):
                self._hear(status, message)
            else:
                batch.append(self._delivered(message))
        await self._ask()
        return batch

    async def _next(self) -> Msg:
        if not self.arrived.empty():
            return self.arrived.get_nowait()
        try:
            async with asyncio.timeout(SILENCE_SECONDS):
                return await self.arrived.get()
        except TimeoutError:
            raise PositionLost("the server is silent") from None

    async def _ask(self) -> None:
        if self._asked:
            return
        self._asked = BATCH
        asked = {
            "batch": BATCH,
            "max_bytes": BATCH_BYTES,
            "expires": int(REQUEST_SECONDS * _NANO),
            "idle_heartbeat": int(BEAT_SECONDS * _NANO),
        }
        await self._client.publish(self._subject, msgspec.json.encode(asked), reply=self.inbox)

    def _hear(self, status: str, message: Msg) -> None:
        said = (message.headers or {}).get("Description", "")
        if status in _ENDED or said == _TOO_BIG:
            self._asked = 0
        # By our own count the end of a batch is known already, and the next one asked for.
        elif status != _BEAT and said != _COUNTED:
            raise PositionLost(f"the server says {status} {said}")

    def _delivered(self, message: Msg) -> _Delivery:
        delivery = _read(message)
        if delivery.number != self._number + 1:
            raise PositionLost("a record is missing")
        self._number = delivery.number
        self._asked -= 1
        return delivery


def _read(message: Msg) -> _Delivery:
    """Where it stands is in the subject an acknowledgement would go to."""
    words = message.reply.split(".")
    if len(words) < 9:
        raise PositionLost("a record without a place")
    revision, number, at, pending = (int(word) for word in words[-4:])
    gone = _OPERATION in (message.headers or {})
    change = RecordChange(key_of_subject(message.subject), revision, at, None if gone else message.data)
    return _Delivery(change, number, pending)


async def _unsubscribed(listening: Subscription) -> None:
    try:
        await listening.unsubscribe()
    except nats.errors.Error:
        return
