"""Sends commands to nodes over NATS and waits for their results.

A command can be sent again safely: the journal of the node attaches it to the running step, or returns the
recorded result. The gateway repeats it every few seconds, so no result is missed.
"""

import asyncio
import math
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import msgspec
import structlog

from stead.control.engines.nats import NATS_UNREACHABLE, Message, Nats
from stead.protocol.commands import (
    Activity,
    Cancel,
    Command,
    Heartbeat,
    MailReport,
    Order,
    Result,
    encode,
    read_activity,
    read_heartbeat,
    read_mail_report,
    read_result,
)
from stead.protocol.subjects import RESULTS
from stead.protocol.subjects import command as command_subject
from stead.shared.cancellation import raise_if_cancelled
from stead.shared.token_bucket import TokenBuckets

log = structlog.get_logger()

RESEND_SECONDS = 5.0
RETRY_SECONDS = 0.2
CANCEL_SECONDS = 30.0
HEARTBEAT_MIN_SECONDS = 0.2
REPORTS_PER_SECOND, REPORTS_AT_ONCE = 5.0, 250
"""Of one node, about visits and about mails. The largest nodes send two hundred at once, every minute."""

T = TypeVar("T")

_Key = tuple[str, str, str, int]
"""The node that was asked, the job, the step and the epoch."""


class Gateway:
    def __init__(
        self,
        nats_: Nats,
        on_heartbeat: Callable[[Heartbeat], Awaitable[None]],
        on_activity: Callable[[Activity], Awaitable[None]] | None = None,
        on_mail: Callable[[MailReport], Awaitable[None]] | None = None,
    ) -> None:
        self._nats, self._on_heartbeat, self._on_activity = nats_, on_heartbeat, on_activity
        self._on_mail = on_mail
        self._waiting: dict[_Key, asyncio.Future[Result]] = {}
        self._subscribed: set[str] = set()
        self._heard_at: dict[str, float] = {}
        """When the last heartbeat of each node was handled."""
        self._reports = TokenBuckets(REPORTS_PER_SECOND, REPORTS_AT_ONCE)

    async def start(self) -> None:
        """Can be called again if it failed."""
        for subject, receive in (
            (RESULTS, self._receive_result),
            ("node.*.heartbeat", self._receive_heartbeat),
            ("node.*.activity", self._receive_activity),
            ("node.*.mail", self._receive_mail),
        ):
            if subject not in self._subscribed:
                await self._nats.client.subscribe(subject, cb=receive)
                self._subscribed.add(subject)

    async def stop_step(self, order: Cancel) -> Result:
        """Return when no part of the step runs on the node any more."""
        key = (order.node, order.job, order.step, order.epoch)
        result = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._send_until_done(order, result)
        finally:
            self._waiting.pop(key, None)

    async def run_command(self, command: Command, is_stopping: Callable[[], bool]) -> Result:
        """Return the result of the node. If this task is cancelled and the step `is_stopping`, stop it on the
        node first. Otherwise it goes on there, and another attempt waits for its result."""
        key = (command.node, command.job, command.step, command.epoch)
        result = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            return await self._send_until_done(command, result)
        except asyncio.CancelledError:
            if is_stopping():
                await asyncio.shield(self._cancel(command, result))
            raise
        finally:
            self._waiting.pop(key, None)

    async def try_command(self, command: Command, seconds: float) -> Result | None:
        """Send the command once. None if the node has not answered in this time; it may still do the work."""
        key = (command.node, command.job, command.step, command.epoch)
        result = self._waiting[key] = asyncio.get_running_loop().create_future()
        try:
            if not await self._send(command):
                return None
            done, _ = await asyncio.wait({result}, timeout=seconds)
            return result.result() if done else None
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
        """Accept a result only from the node that was asked. NATS lets each node publish only under its own
        name, so the subject tells who it was; the content is only a claim."""
        result = _decode(read_result, message)
        if result is None or result.node != _sender(message):
            return
        waiting = self._waiting.get((result.node, result.job, result.step, result.epoch))
        if waiting is not None and not waiting.done():
            waiting.set_result(result)

    async def _receive_heartbeat(self, message: Message) -> None:
        if self._is_too_soon(_sender(message)):
            return
        heartbeat = _decode(read_heartbeat, message)
        if heartbeat is not None and heartbeat.node == _sender(message):
            await self._on_heartbeat(heartbeat)

    def _is_too_soon(self, node: str) -> bool:
        """Each heartbeat is a transaction: a node that floods must not delay those of others."""
        now = time.monotonic()
        if now - self._heard_at.get(node, -math.inf) < HEARTBEAT_MIN_SECONDS:
            return True
        self._heard_at[node] = now
        return False

    async def _receive_activity(self, message: Message) -> None:
        if not self._reports.take(f"visits {_sender(message)}"):
            return
        activity = _decode(read_activity, message)
        if self._on_activity is not None and activity is not None and activity.node == _sender(message):
            await self._on_activity(activity)

    async def _receive_mail(self, message: Message) -> None:
        if not self._reports.take(f"mail {_sender(message)}"):
            return
        report = _decode(read_mail_report, message)
        if self._on_mail is not None and report is not None and report.node == _sender(message):
            await self._on_mail(report)


def _sender(message: Message) -> str:
    """The second word of the subjects that nodes publish to."""
    return message.subject.split(".", 2)[1]


def _decode(read: Callable[[bytes], T], message: Message) -> T | None:
    try:
        return read(message.data)
    except (msgspec.MsgspecError, TypeError) as error:
        log.warning("node.malformed", node=_sender(message), error=type(error).__name__)
        return None
