"""Asks the control plane about the state of functions over NATS. Without an answer the operation has failed:
a function is told so, and never that something was done that may not have been."""

import asyncio
import secrets
import time
from collections import defaultdict
from typing import Any

import msgspec
import nats.errors

from stead.node.functions.spec import FunctionSpec
from stead.node.nats_connection import NatsConnection
from stead.protocol import subjects
from stead.protocol.function_state import (
    ANSWER_SECONDS,
    QUESTIONS_PER_SECOND,
    StateOperation,
    StateQuestion,
    encode,
)

AT_ONCE, AT_ONCE_OF_SITE = 256, 8
"""A site that asks for more waits for itself. A worker answers so many of a site at the same time."""
BURST = 500


class Pace:
    """Spreads what is asked, in its order: `burst` at once, then `rate` in a second."""

    def __init__(self, rate: float, burst: int) -> None:
        self._step, self._slack = 1 / rate, burst / rate
        self._next = 0.0

    def take(self, now: float) -> float:
        """How long the next one has to wait."""
        self._next = max(self._next, now - self._slack) + self._step
        return self._next - now


class StateClient:
    def __init__(self, node: str, connection: NatsConnection) -> None:
        self._node, self._connection = node, connection
        self._places = asyncio.Semaphore(AT_ONCE)
        self._sites: defaultdict[str, asyncio.Semaphore] = defaultdict(
            lambda: asyncio.Semaphore(AT_ONCE_OF_SITE)
        )
        # Workers drop what exceeds their limit, of whatever site it is.
        self._pace = Pace(0.9 * QUESTIONS_PER_SECOND, BURST)

    async def ask(
        self, spec: FunctionSpec, op: StateOperation, namespace: str, arg: dict[str, Any]
    ) -> dict[str, Any]:
        question = StateQuestion(
            self._node, secrets.token_hex(16), spec.site, spec.environment, spec.function, namespace, op, arg
        )
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._sites[spec.site], self._places:
                if (delay := self._pace.take(time.monotonic())) > 0:
                    await asyncio.sleep(delay)
                return await self._exchange(question)
        except (nats.errors.Error, OSError, TimeoutError, msgspec.MsgspecError):
            message = "The state could not be reached. Whether the operation was done is not known."
            return {"error": {"code": "state.unavailable", "message": message}}

    async def _exchange(self, question: StateQuestion) -> dict[str, Any]:
        client = await self._connection.client()
        answers = await client.subscribe(subjects.answer(self._node, question.id))
        try:
            await client.publish(subjects.function_state(self._node), encode(question))
            message = await answers.next_msg(timeout=ANSWER_SECONDS)
            answer: dict[str, Any] = msgspec.json.decode(message.data, type=dict[str, Any])
            return answer
        finally:
            await answers.unsubscribe()
