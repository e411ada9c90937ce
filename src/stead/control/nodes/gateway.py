"""Sends commands to nodes over NATS and waits for their results.

A command can be sent again safely: the journal of the node attaches it to the running step, or returns the
recorded result. The gateway repeats it every few seconds, so no result is missed.
"""

import asyncio
from collections.abc import Awaitable, Callable

import structlog

from stead.control.engines.nats import NATS_UNREACHABLE, Message, Nats
from stead.protocol.commands import (
    Activity,
    Cancel,
    Command,
    Heartbeat,
    Order,
    Result,
    encode,
    read_activity,
    read_heartbeat,
    read_result,
)
from stead.protocol.subjects import command as command_subject
from stead.shared.cancellation import raise_if_cancelled

log = structlog.get_logger()

RESEND_SECONDS = 5.0
RETRY_SECONDS = 0.2
CANCEL_SECONDS = 30.0

_Key = tuple[str, str, int]


class Gateway:
    def __init__(
        self,
        nats_: Nats,
        on_heartbeat: Callable[[Heartbeat], Awaitable[None]],
        on_activity: Callable[[Activity], Awaitable[None]] | None = None,
    ) -> None:
        self._nats, self._on_heartbeat, self._on_activity = nats_, on_heartbeat, on_activity
        self._waiting: dict[_Key, asyncio.Future[Result]] = {}

    async def start(self) -> None:
        await self._nats.client.subscribe("node.*.report.>", cb=self._receive_result)
        await self._nats.client.subscribe("node.*.heartbeat", cb=self._receive_heartbeat)
        await self._nats.client.subscribe("node.*.activity", cb=self._receive_activity)

    async def stop_step(self, order: Cancel) -> Result:
        """Return when no part of the step runs on the node any more."""
        key = (order.job, order.step, order.epoch)
        result = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._send_until_done(order, result)
        finally:
            self._waiting.pop(key, None)

    async def run_command(self, command: Command) -> Result:
        """Return the result of the node. If this task is cancelled, stop the step on the node first."""
        key = (command.job, command.step, command.epoch)
        result = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._send_until_done(command, result)
        except asyncio.CancelledError:
            await asyncio.shield(self._cancel(command, result))
            raise
        finally:
            self._waiting.pop(key, None)

    async def _send_until_done(self, order: Order, result: asyncio.Future[Result]) -> Result:
        while True:
            pause = RESEND_SECONDS if await self._send(order) else RETRY_SECONDS
            raise_if_cancelled()
            done, _ = await asyncio.wait({result}, timeout=pause)
            if done:
                return result.result()

    async def _cancel(self, command: Command, result: asyncio.Future[Result]) -> None:
        """Send a cancellation until the node reports that the step has stopped, at most `CANCEL_SECONDS`."""
        order = Cancel(command.node, command.job, command.step, command.epoch)
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                while not result.done():
                    await self._send(order)
                    await asyncio.wait({result}, timeout=1.0)
        except TimeoutError:
            log.warning("node.silent", node=command.node, job=command.job, step=command.step)

    async def _send(self, order: Order) -> bool:
        kind = "cancel" if isinstance(order, Cancel) else "command"
        try:
            await self._nats.js.publish(command_subject(order.node, kind), encode(order))
        except NATS_UNREACHABLE as error:
            log.warning("node.unreachable", node=order.node, reason=type(error).__name__)
            return False
        return True

    async def _receive_result(self, message: Message) -> None:
        result = read_result(message.data)
        waiting = self._waiting.get((result.job, result.step, result.epoch))
        if waiting is not None and not waiting.done():
            waiting.set_result(result)

    async def _receive_heartbeat(self, message: Message) -> None:
        heartbeat = read_heartbeat(message.data)
        if message.subject == f"node.{heartbeat.node}.heartbeat":
            await self._on_heartbeat(heartbeat)

    async def _receive_activity(self, message: Message) -> None:
        activity = read_activity(message.data)
        if self._on_activity is not None and message.subject == f"node.{activity.node}.activity":
            await self._on_activity(activity)
