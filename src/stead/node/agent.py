"""The agent: receives orders through its own consumer, obeys those that name this node, sends heartbeats."""

import asyncio
import importlib.metadata

import msgspec
import nats.errors
import nats.js.errors
import structlog
from nats.aio.msg import Msg
from nats.js import JetStreamContext

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
    encode,
    read_order,
    result_kind,
)
from stead.protocol.subjects import COMMANDS, Node
from stead.shared.cancellation import raise_if_cancelled

HEARTBEAT_SECONDS = 2.0
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
    ) -> None:
        self._settings, self._journal, self._connection = settings, journal, connection
        self._execution, self._drivers = execution, drivers
        self._reporter = Reporter(journal, connection)
        self._version = importlib.metadata.version("stead")

    async def run(self) -> None:
        """Runs until it is cancelled, or until an error that a restart of the agent may solve."""
        for command in self._journal.resume():
            log.info("command.resumed", job=command.job, step=command.step)
            self._execution.start(command)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._receive_orders())
            tasks.create_task(self._reporter.run())
            tasks.create_task(self._send_heartbeats())
            tasks.create_task(self._keep_house())
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
        if self._journal.record(order) is NextAction.ACT:
            match order:
                case Command():
                    self._execution.start(order)
                case Cancel():
                    self._execution.cancel(order.job, order.step)
        # If the acknowledgement is lost, the order arrives again; the journal has it and nothing changes.
        await message.ack()

    def _read_order(self, data: bytes) -> Order | None:
        try:
            order: Order = read_order(data)
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
            sum([len(await driver.list_environments()) for driver in self._all_drivers()]),
            self._version,
            self._execution.running,
            settings.peer_address,
            builders=live.builders,
            work=live.work,
            runtimes=live.runtimes,
        )

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
