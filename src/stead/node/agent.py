"""The agent: receives orders through its own consumer, obeys those that name this node, sends heartbeats."""

import asyncio
import importlib.metadata
from collections.abc import Callable

import msgspec
import nats.errors
import nats.js.errors
import structlog
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Driver
from stead.node.drivers.driver_set import DriverSets
from stead.node.execution import Execution
from stead.node.journal import Journal, NextAction
from stead.node.nats_connection import NatsConnection
from stead.node.reports import Reporter
from stead.node.settings import Settings
from stead.protocol import subjects
from stead.protocol.commands import (
    Cancel,
    Command,
    Heartbeat,
    Order,
    OrderHead,
    encode,
    read_head,
    read_order,
    result_kind,
)
from stead.protocol.subjects import COMMANDS, Node
from stead.shared.cancellation import raise_if_cancelled
from stead.shared.supervision import Supervisor

HEARTBEAT_SECONDS = 2.0
COUNT_SECONDS = 1.0
PULL_SECONDS = 2.0
"""How long one request for orders lasts. After a restart of NATS it takes this long until the next one."""
RETRY_SECONDS = 1.0
HOUSEKEEPING_SECONDS = 3600.0

log = structlog.get_logger()


class Agent:
    def __init__(
        self,
        settings: Settings,
        journal: Journal,
        connection: NatsConnection,
        execution: Execution,
        drivers: DriverSets,
        space: DiskSpace,
        *,
        supervisor: Supervisor,
        count_skipped: Callable[[], int] = lambda: 0,
    ) -> None:
        """`count_skipped` counts the edge records that do not fit in the memory of nginx."""
        self._settings, self._journal, self._connection = settings, journal, connection
        self._execution, self._drivers, self._count_skipped = execution, drivers, count_skipped
        self._space, self._was_short, self._supervisor = space, False, supervisor
        self._environments = 0
        self._counting: asyncio.Task[int] | None = None
        self._reporter = Reporter(journal, connection)
        self._version = importlib.metadata.version("stead")

    async def run(self) -> None:
        """Runs until it is cancelled, or until an error that a restart of the agent may solve."""
        for command in self._journal.resume():
            log.info("command.resumed", job=command.job, step=command.step)
            self._execution.start(command)
        self._supervisor.keep_running("orders.receive", self._receive_orders)
        self._supervisor.keep_running("results.report", self._reporter.run)
        self._supervisor.keep_running("heartbeats.send", self._send_heartbeats)
        self._supervisor.keep_running("housekeeping", self._keep_house)
        for driver in self._all_drivers():
            for name, task in driver.background_tasks().items():
                self._supervisor.keep_running(name, task)
        await self._execution.broken

    async def _receive_orders(self) -> None:
        last_error = ""
        while True:
            jetstream = await self._connection.jetstream()
            try:
                await self._pull_orders(jetstream)
            except (nats.errors.Error, OSError) as error:
                # Expected until the worker has seen this node and created its consumer; logged once.
                if last_error != type(error).__name__:
                    last_error = type(error).__name__
                    log.info("orders.unavailable", error=last_error)
                await asyncio.sleep(RETRY_SECONDS)

    async def _pull_orders(self, jetstream: JetStreamContext) -> None:
        subscription = await jetstream.pull_subscribe_bind(
            subjects.consumer(Node(self._settings.node_id)), COMMANDS
        )
        try:
            while True:
                raise_if_cancelled()
                try:
                    (message,) = await subscription.fetch(1, timeout=PULL_SECONDS)
                except nats.errors.TimeoutError:
                    continue
                await self._obey(message)
        finally:
            await _unsubscribe(subscription)

    async def _obey(self, message: Msg) -> None:
        order = self._read_order(message.data)
        if order is None:
            await message.term()
            return
        if isinstance(order, OrderHead):
            log.warning("order.outdated", job=order.job, step=order.step, kind=order.subject)
            self._journal.refuse(order)
        elif self._journal.record(order) is NextAction.ACT:
            match order:
                case Command():
                    self._execution.start(order)
                case Cancel():
                    self._execution.cancel(order.job, order.step)
        # If the acknowledgement is lost, the order arrives again; the journal has it and nothing changes.
        await message.ack()

    def _read_order(self, data: bytes) -> Order | OrderHead | None:
        """Only the head of an order that this version does not understand: it is answered too."""
        try:
            try:
                order: Order | OrderHead = read_order(data)
            except msgspec.ValidationError:
                order = read_head(data)
            # A step whose result or output cannot be published must not start.
            subjects.report(order.node, result_kind(order.job, order.step))
            subjects.output_of(order.job)
        except (msgspec.MsgspecError, ValueError) as error:
            log.warning("order.refused", reason="malformed", error=type(error).__name__)
            return None
        if order.node != self._settings.node_id:
            log.warning("order.refused", reason="names another node", named=order.node)
            return None
        return order

    async def _send_heartbeats(self) -> None:
        while True:
            if self._connection.connected:
                client = await self._connection.client()
                heartbeat = encode(await self._heartbeat())
                try:
                    await client.publish(subjects.heartbeat(self._settings.node_id), heartbeat)
                except (nats.errors.Error, OSError) as error:
                    log.info("heartbeat.skipped", error=type(error).__name__)
            await asyncio.sleep(HEARTBEAT_SECONDS)

    async def _heartbeat(self) -> Heartbeat:
        settings, live = self._settings, self._drivers["live"]
        return Heartbeat(
            settings.node_id,
            settings.node_region,
            settings.node_capacity,
            await self._count_environments(),
            self._version,
            self._execution.running,
            settings.peer_address,
            builders=live.builders,
            work=live.work,
            runtimes=live.runtimes,
            short_of_space=self._is_short_of_space(),
            room_mb=live.room_mb,
            records_skipped=self._count_skipped(),
        )

    async def _count_environments(self) -> int:
        """The last known number if counting takes long, because commands use all threads: the control plane
        takes a node without heartbeats for lost."""
        if self._counting is None:
            self._counting = asyncio.create_task(self._count_now())
        await asyncio.wait({self._counting}, timeout=COUNT_SECONDS)
        if self._counting.done():
            counted, self._counting = self._counting, None
            self._environments = counted.result()
        return self._environments

    async def _count_now(self) -> int:
        return sum([len(await driver.list_environments()) for driver in self._all_drivers()])

    def _is_short_of_space(self) -> bool:
        short = self._space.is_short
        if short != self._was_short:
            self._was_short = short
            log.warning("node.short_of_space" if short else "node.has_space_again")
        return short

    def _all_drivers(self) -> list[Driver]:
        return [driver for drivers in self._drivers.values() for driver in drivers.drivers]

    async def _keep_house(self) -> None:
        while True:
            if removed := self._journal.remove_old_steps():
                log.info("journal.forgotten", steps=removed)
            for driver in self._all_drivers():
                try:
                    await driver.tidy()
                except OSError as error:
                    log.warning("tidying.failed", error=type(error).__name__)
            await asyncio.sleep(HOUSEKEEPING_SECONDS)


async def _unsubscribe(subscription: JetStreamContext.PullSubscription) -> None:
    try:
        await subscription.unsubscribe()
    except nats.errors.Error:
        return
