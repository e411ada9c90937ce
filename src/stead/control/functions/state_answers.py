"""Answers nodes that ask for the state of their functions."""

import asyncio
import time

import msgspec
import structlog

from stead.control.engines.nats import NATS_UNREACHABLE, Message, Nats
from stead.control.engines.nats_state import StateStream
from stead.control.engines.postgres import DATABASE_FAILED, Database
from stead.control.functions import state_store
from stead.control.functions.state import FunctionState
from stead.control.functions.state_quota import StateQuota
from stead.control.functions.state_turns import Turns
from stead.protocol.function_state import (
    ANSWER_SECONDS,
    QUESTIONS_PER_SECOND,
    StateQuestion,
    encode,
    read_question,
)
from stead.protocol.subjects import answer
from stead.shared.token_bucket import TokenBuckets

BURST = 2000
"""Questions of one node at once."""
AT_ONCE = 64
"""Of all nodes, in one worker. More wait, and their functions stop waiting."""
REMEMBERED_SECONDS = 5.0
_SUBJECT, _QUEUE = "node.*.function_state", "workers"

log = structlog.get_logger()


class StateAnswers:
    def __init__(self, nats_: Nats, database: Database) -> None:
        self._nats, self._database = nats_, database
        stream = StateStream(nats_)
        self._state = FunctionState(stream, StateQuota(database, stream))
        self._allowed = TokenBuckets(QUESTIONS_PER_SECOND, BURST)
        self._hosted: dict[tuple[str, str, str, str], float] = {}
        self._places = asyncio.Semaphore(AT_ONCE)
        self._turns = Turns()
        self._tasks: set[asyncio.Task[None]] = set()
        self._subscribed = False

    async def start(self) -> None:
        """Can be called again if it failed. One of all workers gets each question."""
        if not self._subscribed:
            await self._nats.client.subscribe(_SUBJECT, queue=_QUEUE, cb=self._receive)
            self._subscribed = True

    async def _receive(self, message: Message) -> None:
        """NATS lets each node publish only under its own name, so the subject tells who asks."""
        sender = message.subject.split(".")[1]
        if not self._allowed.take(sender):
            return
        try:
            question = read_question(message.data)
        except (msgspec.MsgspecError, TypeError):
            log.warning("function_state.malformed", node=sender)
            return
        if question.node == sender and self._turns.has_room(sender):
            task = asyncio.create_task(self._answer(question, time.monotonic() + ANSWER_SECONDS))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, question: StateQuestion, until: float) -> None:
        try:
            async with self._turns.take(question.node, question.environment), self._places:
                if time.monotonic() > until:
                    # Nobody waits for the answer any more.
                    return
                if not await self._is_hosted(question):
                    found = {"error": {"code": "state.refused", "message": "The function is not known here."}}
                else:
                    found = await self._state.answer(question)
            await self._nats.client.publish(answer(question.node, question.id), encode(found))
        except (*DATABASE_FAILED, *NATS_UNREACHABLE) as error:
            # Without an answer, the function is told that the state could not be reached.
            log.warning("function_state.not_answered", node=question.node, reason=type(error).__name__)

    async def _is_hosted(self, question: StateQuestion) -> bool:
        """Remembered for a moment: a node may ask for nothing but what it carries."""
        asked = (question.node, question.site, question.environment, question.function)
        now = time.monotonic()
        if self._hosted.get(asked, 0.0) > now:
            return True
        async with self._database.reading() as tx:
            hosted = await state_store.is_hosted(
                tx,
                node=question.node,
                site=question.site,
                environment=question.environment,
                function=question.function,
            )
        if hosted:
            if len(self._hosted) > 10_000:
                self._hosted.clear()
            self._hosted[asked] = now + REMEMBERED_SECONDS
        return hosted
