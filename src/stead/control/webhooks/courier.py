"""The courier: sends what is due, many at a time, a few to each endpoint. Every worker has one.

There are two lanes. Endpoints that fail, or that this courier has found slow, share one of them and get one
place each; so however many there are, the others never wait for them. An endpoint begins with two places and
gets one more with every quick answer.
"""

import asyncio
import secrets
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence
from datetime import timedelta

import msgspec
import structlog

from stead.control.engines.postgres import UNREACHABLE, Database, Tx
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.outbox.events import About, publish
from stead.control.sealing import SealBroken, Sealer
from stead.control.webhooks import queue, service, signing, urls
from stead.control.webhooks.client import Client, NotDelivered, Reply
from stead.control.webhooks.events import WEBHOOK_ENDPOINT_DISABLED
from stead.control.webhooks.excerpts import excerpt, retry_after
from stead.control.webhooks.queue import STRANGERS_SHARE, Outcome, Pace, Parcel
from stead.control.webhooks.rules import GIVE_UP_ON_ENDPOINT, pause_after
from stead.control.webhooks.schema import Envelope
from stead.shared.clock import Clock

log = structlog.get_logger()

SWEEP_SECONDS = 0.5
GATHER_SECONDS = 0.01
"""What ends or falls due within this is taken together: a claim costs the same for one as for many."""
LAST_SECONDS = 5.0
"""For what is under way when the worker ends."""
SHARE = 8
"""Deliveries under way to one endpoint, from one worker."""
PLACES, SLOW_PLACES = 192, 64
AT_ONCE, FIRST = 64, 4
_KNOWN, _KEPT_SECRETS = 1000, 5000
_GONE = 410
_CONSTANT = b"Content-Type: application/json\r\nUser-Agent: Stead-Webhooks/1\r\nAccept: */*\r\n"

_encode = msgspec.json.Encoder().encode


class Courier:
    def __init__(
        self, database: Database, listener: PostgresListener, sealer: Sealer, client: Client, *, clock: Clock
    ) -> None:
        self._database, self._listener, self._sealer = database, listener, sealer
        self._client, self._clock = client, clock
        self._lanes: Counter[bool] = Counter()
        self._done = 0
        self._known: OrderedDict[str, Pace] = OrderedDict()
        self._secrets: OrderedDict[tuple[str, bytes], str] = OrderedDict()
        self._ended: list[Outcome] = []
        self._room, self._news = asyncio.Event(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Woken by new deliveries and by every end of one, and twice a second without either."""
        recording = asyncio.create_task(self._keep_recording())
        try:
            with self._listener.watching("deliveries") as due:
                await self._keep_sending(due)
        finally:
            recording.cancel()
            if self._tasks:
                await asyncio.wait(set(self._tasks), timeout=LAST_SECONDS)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, recording, return_exceptions=True)
            await self._write_down()
            await self._client.close()

    async def _keep_sending(self, due: asyncio.Event) -> None:
        while True:
            due.clear()
            self._room.clear()
            try:
                while await self.send_due() >= AT_ONCE:
                    continue
            except UNREACHABLE as error:
                log.warning("webhooks.postponed", reason=type(error).__name__)
                await asyncio.sleep(SWEEP_SECONDS)
            except Exception as error:  # noqa: BLE001 - without it this worker would never send again
                log.error("webhooks.failed", reason=type(error).__name__)
                await asyncio.sleep(SWEEP_SECONDS)
            self._client.forget_idle()
            await _either(due, self._room, SWEEP_SECONDS)
            await asyncio.sleep(GATHER_SECONDS)

    async def send_due(self) -> int:
        """Begin what is due as far as there is room. How many were begun."""
        begun = 0
        for slow, places, share in ((False, PLACES, SHARE), (True, SLOW_PLACES, 1)):
            # A courier that has just started has no connections yet: it leaves most to the others at first.
            room = min(AT_ONCE, FIRST + self._done, places - self._lanes[slow])
            if room <= 0:
                continue
            async with self._database.transaction() as tx:
                parcels = await queue.claim(tx, room, self._known, share=share, slow=slow)
            for parcel in parcels:
                self._start(parcel, slow=slow)
            begun += len(parcels)
        return begun

    async def until_idle(self) -> None:
        """Wait for everything that is under way, and write it down."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._write_down()

    def _start(self, parcel: Parcel, *, slow: bool) -> None:
        pace = self._known.setdefault(parcel.endpoint_id, Pace())
        pace.taken += 1
        self._lanes[slow] += 1
        task = asyncio.create_task(self._deliver(parcel, pace, slow=slow))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, parcel: Parcel, pace: Pace, *, slow: bool) -> None:
        began = time.perf_counter()
        try:
            outcome = await self._attempt(parcel, began)
            self._learn(parcel.endpoint_id, pace, time.perf_counter() - began, taken=outcome.reached)
        finally:
            self._done += 1
            pace.taken -= 1
            self._lanes[slow] -= 1
            self._room.set()
        self._ended.append(outcome)
        self._news.set()

    def _learn(self, endpoint: str, pace: Pace, seconds: float, *, taken: bool) -> None:
        """Quick answers earn an endpoint places; what is not heard of for long is a stranger again."""
        pace.seconds = 0.5 * pace.seconds + 0.5 * seconds
        pace.share = min(pace.share + 1, SHARE) if taken and not pace.is_slow else STRANGERS_SHARE
        self._known.move_to_end(endpoint)
        if len(self._known) > _KNOWN:
            idle = [name for name, each in self._known.items() if each.taken == 0]
            for oldest in idle[: len(self._known) - _KNOWN]:
                del self._known[oldest]

    async def _attempt(self, parcel: Parcel, began: float) -> Outcome:
        if not parcel.readable:
            return self._outcome(parcel, began, None, "The account may not read this event any more.", ())
        try:
            keys = self._keys(parcel)
            target = urls.read(parcel.url)
        except (SealBroken, urls.NotAnAddress) as unusable:
            return self._outcome(parcel, began, None, f"It cannot be sent: {type(unusable).__name__}.", ())
        body = _encode(
            Envelope(
                parcel.event_id, parcel.type, parcel.site_id, parcel.env_id, parcel.created_at, parcel.data
            )
        )
        second = int(self._clock().timestamp())
        signed = signing.headers(parcel.id, second, body, [signing.key_of(key) for key in keys])
        try:
            reply = await self._client.post(target, _CONSTANT + signed, body)
        except NotDelivered as reason:
            return self._outcome(parcel, began, None, str(reason), keys)
        error = None if 200 <= reply.status < 300 else f"The answer was {reply.status}."
        return self._outcome(parcel, began, reply, error, keys)

    def _keys(self, parcel: Parcel) -> list[str]:
        """The newest secret, and for a day after a roll the one before."""
        keys = [self._unsealed(parcel.endpoint_id, parcel.secret)]
        until = parcel.previous_until
        if parcel.previous_secret is not None and until is not None and until > self._clock():
            keys.append(self._unsealed(parcel.endpoint_id, parcel.previous_secret))
        return keys

    def _unsealed(self, endpoint: str, sealed: bytes) -> str:
        known = self._secrets.get((endpoint, sealed))
        if known is None:
            known = self._secrets[endpoint, sealed] = service.unseal(self._sealer, endpoint, sealed)
            if len(self._secrets) > _KEPT_SECRETS:
                self._secrets.popitem(last=False)
        return known

    def _outcome(
        self, parcel: Parcel, began: float, reply: Reply | None, error: str | None, keys: Sequence[str]
    ) -> Outcome:
        now = self._clock()
        asked = retry_after(reply.retry_after, now) if reply and error else None
        pause = pause_after(parcel.attempts + 1, secrets.randbelow(1000) / 1000, asked)
        again = error is not None and pause is not None and parcel.readable
        status = reply.status if reply else None
        return Outcome(
            id=parcel.id,
            claim=parcel.claim,
            endpoint_id=parcel.endpoint_id,
            status="delivered" if error is None else "pending" if again else "failed",
            response_status=status,
            error=error,
            next_attempt_at=now + (pause or timedelta()) if again else None,
            entry={
                "at": now,
                "status": status,
                "duration_ms": round(1000 * (time.perf_counter() - began)),
                "error": error,
                "excerpt": excerpt(reply.body, keys) if reply else None,
            },
            reached=error is None or not parcel.readable,
            gone=status == _GONE,
        )

    async def _keep_recording(self) -> None:
        while True:
            await self._news.wait()
            await asyncio.sleep(GATHER_SECONDS)
            self._news.clear()
            try:
                await self._write_down()
            except Exception as error:  # noqa: BLE001 - what is not written down is sent again; others must be
                log.warning("webhooks.unrecorded", reason=type(error).__name__)
                await asyncio.sleep(SWEEP_SECONDS)
                self._news.set()

    async def _write_down(self) -> None:
        ended, self._ended = self._ended, []
        if not ended:
            return
        try:
            async with self._database.transaction() as tx:
                await _record(tx, ended)
        except BaseException:
            self._ended = ended + self._ended
            raise


async def _record(tx: Tx, outcomes: Sequence[Outcome]) -> None:
    await queue.record(tx, outcomes)
    reached = {each.endpoint_id for each in outcomes if each.reached}
    failed = {each.endpoint_id for each in outcomes} - reached
    gone = {each.endpoint_id for each in outcomes if each.gone}
    for endpoint in await queue.note_health(tx, reached, failed):
        await _disable(tx, endpoint, f"Every delivery failed for {GIVE_UP_ON_ENDPOINT.days} days.")
    for endpoint in sorted(gone):
        await _disable(tx, endpoint, "It answered 410 Gone.")


async def _disable(tx: Tx, endpoint: str, reason: str) -> None:
    account = await queue.disable(tx, endpoint, reason)
    if account is not None:
        about = About(account_id=account)
        await publish(tx, WEBHOOK_ENDPOINT_DISABLED, about, endpoint_id=endpoint, reason=reason)
        log.warning("webhooks.endpoint_disabled", endpoint_id=endpoint)


async def _either(one: asyncio.Event, other: asyncio.Event, seconds: float) -> None:
    waiting = {asyncio.create_task(one.wait()), asyncio.create_task(other.wait())}
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
