"""How the worker asks nodes: an order on the node's own subject, its result as soon as the node has one.

Asking is repeatable. The node's journal makes the same step again attach to what runs or return what is
recorded, so whoever waits here asks anew every few seconds and cannot miss an answer.
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
from stead.protocol.subjects import command
from stead.shared.cancellation import raise_if_cancelled

log = structlog.get_logger()

ASK_AGAIN_SECONDS = 5.0
RETRY_SECONDS = 0.2
CANCEL_SECONDS = 30.0

_Key = tuple[str, str, int]


class Gateway:
    def __init__(
        self,
        nats_: Nats,
        heard: Callable[[Heartbeat], Awaitable[None]],
        visited: Callable[[Activity], Awaitable[None]] | None = None,
    ) -> None:
        self._nats, self._heard, self._visited = nats_, heard, visited
        self._waiting: dict[_Key, asyncio.Future[Result]] = {}

    async def start(self) -> None:
        await self._nats.client.subscribe("node.*.report.>", cb=self._on_result)
        await self._nats.client.subscribe("node.*.heartbeat", cb=self._on_heartbeat)
        await self._nats.client.subscribe("node.*.activity", cb=self._on_activity)

    async def stop(self, order: Cancel) -> Result:
        """Returns when nothing of the step runs on the node any more."""
        key = (order.job, order.step, order.epoch)
        answer = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._ask(order, answer)
        finally:
            self._waiting.pop(key, None)

    async def ask(self, wanted: Command) -> Result:
        """The node's result. Cancelled while it waits, it stops the step on the node first."""
        key = (wanted.job, wanted.step, wanted.epoch)
        answer = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._ask(wanted, answer)
        except asyncio.CancelledError:
            await asyncio.shield(self._stop(wanted, answer))
            raise
        finally:
            self._waiting.pop(key, None)

    async def _ask(self, order: Order, answer: asyncio.Future[Result]) -> Result:
        while True:
            pause = ASK_AGAIN_SECONDS if await self._send(order) else RETRY_SECONDS
            raise_if_cancelled()
            done, _ = await asyncio.wait({answer}, timeout=pause)
            if done:
                return answer.result()

    async def _stop(self, wanted: Command, answer: asyncio.Future[Result]) -> None:
        """Until the node says that nothing of it runs any more, or for as long as there is hope."""
        order = Cancel(wanted.node, wanted.job, wanted.step, wanted.epoch)
        try:
            async with asyncio.timeout(CANCEL_SECONDS):
                while not answer.done():
                    await self._send(order)
                    await asyncio.wait({answer}, timeout=1.0)
        except TimeoutError:
            log.warning("node.silent", node=wanted.node, job=wanted.job, step=wanted.step)

    async def _send(self, order: Order) -> bool:
        kind = "cancel" if isinstance(order, Cancel) else "command"
        try:
            await self._nats.js.publish(command(order.node, kind), encode(order))
        except NATS_UNREACHABLE as error:
            log.warning("node.unreachable", node=order.node, reason=type(error).__name__)
            return False
        return True

    async def _on_result(self, message: Message) -> None:
        result = read_result(message.data)
        answer = self._waiting.get((result.job, result.step, result.epoch))
        if answer is not None and not answer.done():
            answer.set_result(result)

    async def _on_heartbeat(self, message: Message) -> None:
        beat = read_heartbeat(message.data)
        if message.subject == f"node.{beat.node}.heartbeat":
            await self._heard(beat)

    async def _on_activity(self, message: Message) -> None:
        activity = read_activity(message.data)
        if self._visited is not None and message.subject == f"node.{activity.node}.activity":
            await self._visited(activity)
