"""Takes orders from its own consumer and obeys those that name this node; tells the world it lives."""

import asyncio
import importlib.metadata

import msgspec
import nats.errors
import nats.js.errors
import structlog
from nats.aio.msg import Msg
from nats.js import JetStreamContext

from stead.node.commands import DriversOf
from stead.node.drivers.ports import Runtime
from stead.node.execution import Execution
from stead.node.journal import Answer, Journal
from stead.node.link import Link
from stead.node.reports import Reporter
from stead.node.settings import Settings
from stead.protocol import subjects
from stead.protocol.commands import Cancel, Command, Heartbeat, Order, encode, read_order, result_kind
from stead.protocol.subjects import COMMANDS, Node
from stead.shared.cancellation import heed_cancellation

HEARTBEAT = 2.0
PULL = 2.0
"""How long one request for orders stands; after a restart of NATS the next one is heard this much later."""
PAUSE = 1.0
HOUSEKEEPING = 3600.0

log = structlog.get_logger()


class Agent:
    def __init__(
        self, settings: Settings, journal: Journal, link: Link, execution: Execution, drivers: DriversOf
    ) -> None:
        self._settings, self._journal, self._link = settings, journal, link
        self._execution, self._drivers = execution, drivers
        self._reporter = Reporter(journal, link)
        self._version = importlib.metadata.version("stead")

    async def run(self) -> None:
        """For ever; ends only with an error that a new start may get over."""
        for command in self._journal.resume():
            log.info("command.resumed", job=command.job, step=command.step)
            self._execution.start(command)
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._take_orders())
            tasks.create_task(self._reporter.run())
            tasks.create_task(self._beat())
            tasks.create_task(self._forget())
            await self._execution.broken

    async def _take_orders(self) -> None:
        told = ""
        while True:
            jetstream = await self._link.jetstream()
            try:
                await self._pull(jetstream)
            except (nats.errors.Error, OSError) as error:
                # Without a consumer there is nobody to answer: the worker makes it when it knows of us.
                if told != type(error).__name__:
                    told = type(error).__name__
                    log.info("orders.unavailable", error=told)
                await asyncio.sleep(PAUSE)

    async def _pull(self, jetstream: JetStreamContext) -> None:
        pulled = await jetstream.pull_subscribe_bind(
            subjects.consumer(Node(self._settings.node_id)), COMMANDS
        )
        try:
            while True:
                heed_cancellation()
                try:
                    (message,) = await pulled.fetch(1, timeout=PULL)
                except nats.errors.TimeoutError:
                    continue
                await self._obey(message)
        finally:
            await _unsubscribed(pulled)

    async def _obey(self, message: Msg) -> None:
        order = self._read(message.data)
        if order is None:
            await message.term()
            return
        if self._journal.take(order) is Answer.ACT:
            match order:
                case Command():
                    self._execution.start(order)
                case Cancel():
                    self._execution.cancel(order.job, order.step)
        # The journal remembers it: should this be lost, the order comes again and changes nothing.
        await message.ack()

    def _read(self, data: bytes) -> Order | None:
        try:
            order: Order = read_order(data)
            # What could not be reported must not be begun.
            subjects.report(order.node, result_kind(order.job, order.step))
            subjects.output_of(order.job)
        except (msgspec.MsgspecError, ValueError) as error:
            log.warning("order.refused", reason="malformed", error=type(error).__name__)
            return None
        if order.node != self._settings.node_id:
            log.warning("order.refused", reason="names another node", named=order.node)
            return None
        return order

    async def _beat(self) -> None:
        while True:
            if self._link.connected:
                client = await self._link.client()
                beat = encode(await self._heartbeat())
                try:
                    await client.publish(subjects.heartbeat(self._settings.node_id), beat)
                except (nats.errors.Error, OSError) as error:
                    log.info("heartbeat.skipped", error=type(error).__name__)
            await asyncio.sleep(HEARTBEAT)

    async def _heartbeat(self) -> Heartbeat:
        settings = self._settings
        carrying = sum([len(await runtime.inventory()) for runtime in self._runtimes()])
        return Heartbeat(
            settings.node_id,
            settings.node_region,
            settings.node_capacity,
            carrying,
            self._version,
            self._execution.running,
            settings.peer_address,
            tuple(self._drivers["live"].builders),
        )

    def _runtimes(self) -> list[Runtime]:
        return [each for drivers in self._drivers.values() for each in drivers.all_runtimes()]

    async def _forget(self) -> None:
        while True:
            if forgotten := self._journal.forget_old():
                log.info("journal.forgotten", steps=forgotten)
            for runtime in self._runtimes():
                try:
                    await runtime.tidy()
                except OSError as error:
                    log.warning("tidying.failed", error=type(error).__name__)
            await asyncio.sleep(HOUSEKEEPING)


async def _unsubscribed(pulled: JetStreamContext.PullSubscription) -> None:
    try:
        await pulled.unsubscribe()
    except nats.errors.Error:
        return
