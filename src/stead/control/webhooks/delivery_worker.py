"""The delivery worker sends webhook deliveries that are due. Every worker process runs one.

There are two lanes. Endpoints that fail, or that this worker measured as slow, share the slow lane, with one
delivery in flight each; so they never delay other endpoints, however many there are. In the fast lane an
endpoint starts with two deliveries in flight and is allowed one more after every fast response.
"""

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import Sequence

import structlog

from stead.control import metrics
from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database, Tx
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.outbox.events import About, publish
from stead.control.sealing import Sealer
from stead.control.webhooks import queue
from stead.control.webhooks.client import HttpsClient
from stead.control.webhooks.events import WEBHOOK_ENDPOINT_DISABLED
from stead.control.webhooks.queue import INITIAL_LIMIT, AttemptResult, ClaimedDelivery, EndpointState
from stead.control.webhooks.rules import DISABLE_AFTER
from stead.control.webhooks.sender import DeliverySender
from stead.shared.clock import Clock

log = structlog.get_logger()

POLL_SECONDS = 0.5
BATCHING_SECONDS = 0.01
"""Wait this long before claiming or recording: one statement for many rows costs the same as for one."""
SHUTDOWN_SECONDS = 5.0
"""For deliveries that are in flight when the worker stops."""
MAX_PER_ENDPOINT = 8
"""Deliveries in flight to one endpoint, from one worker."""
FAST_LANE_SIZE, SLOW_LANE_SIZE = 192, 64
FAST_PER_ACCOUNT, SLOW_PER_ACCOUNT = 48, 16
"""Deliveries in flight to all endpoints of one account, so that no account fills a lane."""
CLAIM_SIZE, FIRST_CLAIM_SIZE = 64, 4
_MAX_KNOWN_ENDPOINTS = 1000


class DeliveryWorker:
    def __init__(
        self,
        database: Database,
        listener: PostgresListener,
        sealer: Sealer,
        client: HttpsClient,
        *,
        clock: Clock,
    ) -> None:
        self._database, self._listener, self._client = database, listener, client
        self._sender = DeliverySender(client, sealer, clock)
        self._in_flight: Counter[bool] = Counter()
        """How many deliveries are in flight in the slow (True) and in the fast lane."""
        self._accounts: dict[bool, Counter[str]] = {False: Counter(), True: Counter()}
        """The same for each account."""
        self._completed = 0
        self._endpoints: OrderedDict[str, EndpointState] = OrderedDict()
        self._results: list[AttemptResult] = []
        self._slot_freed, self._result_added = asyncio.Event(), asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Send when PostgreSQL announces deliveries, when one completes, and at least twice a second."""
        recording = asyncio.create_task(self._keep_recording())
        try:
            with self._listener.watching("deliveries") as due:
                await self._keep_sending(due)
        finally:
            recording.cancel()
            if self._tasks:
                await asyncio.wait(set(self._tasks), timeout=SHUTDOWN_SECONDS)
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, recording, return_exceptions=True)
            await self._record_results()
            await self._client.close()

    async def _keep_sending(self, due: asyncio.Event) -> None:
        while True:
            due.clear()
            self._slot_freed.clear()
            try:
                while await self.send_due() >= CLAIM_SIZE:
                    continue
            except DATABASE_UNREACHABLE as error:
                log.warning("webhooks.postponed", reason=type(error).__name__)
                await asyncio.sleep(POLL_SECONDS)
            except Exception as error:  # noqa: BLE001 - the delivery worker must go on after any failure
                log.error("webhooks.failed", reason=type(error).__name__)
                await asyncio.sleep(POLL_SECONDS)
            self._client.close_idle()
            await _wait_for_either(due, self._slot_freed, POLL_SECONDS)
            await asyncio.sleep(BATCHING_SECONDS)

    async def send_due(self) -> int:
        """Start deliveries that are due, as far as there are free slots. Return how many were started."""
        started = 0
        for slow, size, per_endpoint, per_account in (
            (False, FAST_LANE_SIZE, MAX_PER_ENDPOINT, FAST_PER_ACCOUNT),
            (True, SLOW_LANE_SIZE, 1, SLOW_PER_ACCOUNT),
        ):
            # A new worker has no open connections, so it claims few deliveries at first.
            free = min(CLAIM_SIZE, FIRST_CLAIM_SIZE + self._completed, size - self._in_flight[slow])
            if free <= 0:
                continue
            async with self._database.transaction() as tx:
                claimed = await queue.claim_due(
                    tx,
                    free,
                    self._endpoints,
                    self._accounts[slow],
                    per_endpoint=per_endpoint,
                    per_account=per_account,
                    slow=slow,
                )
            for delivery in claimed:
                self._start(delivery, slow=slow)
            started += len(claimed)
        return started

    async def wait_until_idle(self) -> None:
        """Wait for every delivery in flight, and record the results."""
        while self._tasks:
            await asyncio.wait(set(self._tasks))
        await self._record_results()

    def _start(self, delivery: ClaimedDelivery, *, slow: bool) -> None:
        state = self._endpoints.setdefault(delivery.endpoint_id, EndpointState())
        state.in_flight += 1
        self._in_flight[slow] += 1
        self._accounts[slow][delivery.account_id] += 1
        task = asyncio.create_task(self._deliver(delivery, state, slow=slow))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, delivery: ClaimedDelivery, state: EndpointState, *, slow: bool) -> None:
        began = time.perf_counter()
        try:
            result = await self._sender.attempt(delivery)
            self._update_state(delivery.endpoint_id, state, time.perf_counter() - began, result)
        finally:
            self._completed += 1
            state.in_flight -= 1
            self._in_flight[slow] -= 1
            self._release_account(delivery.account_id, slow=slow)
            self._slot_freed.set()
        metrics.webhook_attempts.labels(result.status).inc()
        self._results.append(result)
        self._result_added.set()

    def _release_account(self, account: str, *, slow: bool) -> None:
        in_flight = self._accounts[slow]
        in_flight[account] -= 1
        if not in_flight[account]:
            del in_flight[account]

    def _update_state(
        self, endpoint: str, state: EndpointState, seconds: float, result: AttemptResult
    ) -> None:
        """Fast successful responses raise the limit of an endpoint. The least recently used are forgotten."""
        state.latency = 0.5 * state.latency + 0.5 * seconds
        fast = result.healthy and not state.is_slow
        state.limit = min(state.limit + 1, MAX_PER_ENDPOINT) if fast else INITIAL_LIMIT
        self._endpoints.move_to_end(endpoint)
        if len(self._endpoints) > _MAX_KNOWN_ENDPOINTS:
            idle = [name for name, each in self._endpoints.items() if each.in_flight == 0]
            for oldest in idle[: len(self._endpoints) - _MAX_KNOWN_ENDPOINTS]:
                del self._endpoints[oldest]

    async def _keep_recording(self) -> None:
        while True:
            await self._result_added.wait()
            await asyncio.sleep(BATCHING_SECONDS)
            self._result_added.clear()
            try:
                await self._record_results()
            except Exception as error:  # noqa: BLE001 - unrecorded deliveries are sent again; recording must go on
                log.warning("webhooks.unrecorded", reason=type(error).__name__)
                await asyncio.sleep(POLL_SECONDS)
                self._result_added.set()

    async def _record_results(self) -> None:
        results, self._results = self._results, []
        if not results:
            return
        try:
            async with self._database.transaction() as tx:
                await _record(tx, results)
        except BaseException:
            self._results = results + self._results
            raise


async def _record(tx: Tx, results: Sequence[AttemptResult]) -> None:
    await queue.record_attempts(tx, results)
    healthy = {each.endpoint_id for each in results if each.healthy}
    failing = {each.endpoint_id for each in results} - healthy
    gone = {each.endpoint_id for each in results if each.gone}
    for endpoint in await queue.update_endpoint_health(tx, healthy, failing):
        await _disable(tx, endpoint, f"Every delivery failed for {DISABLE_AFTER.days} days.")
    for endpoint in sorted(gone):
        await _disable(tx, endpoint, "It answered 410 Gone.")


async def _disable(tx: Tx, endpoint: str, reason: str) -> None:
    account = await queue.disable_endpoint(tx, endpoint, reason)
    if account is not None:
        about = About(account_id=account)
        await publish(tx, WEBHOOK_ENDPOINT_DISABLED, about, endpoint_id=endpoint, reason=reason)
        log.warning("webhooks.endpoint_disabled", endpoint_id=endpoint)


async def _wait_for_either(one: asyncio.Event, other: asyncio.Event, seconds: float) -> None:
    waiting = {asyncio.create_task(one.wait()), asyncio.create_task(other.wait())}
    try:
        await asyncio.wait(waiting, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in waiting:
            task.cancel()
