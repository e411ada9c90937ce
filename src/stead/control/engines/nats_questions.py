"""Asks nodes about their sites over NATS, and waits for the answers.

Answers are published under the name of the node and of this process, so one subscription receives them all,
and no node can answer for another.
"""

import asyncio
import secrets
from collections import Counter

import msgspec
import structlog

from stead.control.engines.nats import NATS_UNREACHABLE, Message, Nats
from stead.control.engines.transaction_guard import require_no_transaction
from stead.protocol import subjects
from stead.protocol.commands import DriverSetName
from stead.protocol.questions import Answer, Question, encode, read_answer

GRACE_SECONDS = 2.0
"""A node answers in time even if it only says that the site did not."""
MAX_WAITING, PER_OWNER = 1000, 100
"""Questions of this process that wait for an answer, in all and of one owner."""
PER_OWNER_IF_CROWDED = 10
"""When half of the places are taken, the others are for owners who need few."""
_NOBODY_LISTENS = "503"

log = structlog.get_logger()


class NoAnswer(Exception):
    """The node cannot be reached, or has not answered."""

    def __init__(self, *, was_asked: bool) -> None:
        super().__init__()
        self.was_asked = was_asked


class TooManyQuestions(Exception):
    """The owner waits for too many answers already."""


class Questions:
    def __init__(self, nats_: Nats) -> None:
        self._nats = nats_
        self._process = secrets.token_hex(8)
        self._waiting: dict[tuple[str, str], asyncio.Future[Answer]] = {}
        self._owners: Counter[str] = Counter()
        self._subscribed = False
        self._subscribing = asyncio.Lock()

    async def ask(
        self,
        node: str,
        environment: str,
        driver: DriverSetName,
        kind: str,
        body: bytes,
        seconds: float,
        *,
        owner: str,
        file: str = "",
    ) -> Answer:
        """The question is sent once: a repetition could change something twice. Raises NoAnswer or
        TooManyQuestions."""
        require_no_transaction("NATS")
        crowded = len(self._waiting) >= MAX_WAITING // 2
        if self._owners[owner] >= (PER_OWNER_IF_CROWDED if crowded else PER_OWNER):
            raise TooManyQuestions
        if len(self._waiting) >= MAX_WAITING:
            raise NoAnswer(was_asked=False)
        question = Question(
            *(node, self._process, secrets.token_hex(16), environment, driver, kind, seconds, body, owner),
            file=file,
        )
        key = (node, question.id)
        answer: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[key] = answer
        self._owners[owner] += 1
        try:
            await self._subscribe()
            await self._nats.client.publish(
                subjects.question(node),
                encode(question),
                # Nodes do not read it. The server reports there that no node is connected.
                reply=subjects.reply(node, self._process, question.id),
            )
            async with asyncio.timeout(seconds + GRACE_SECONDS):
                return await answer
        except NATS_UNREACHABLE as error:
            log.warning("question.unanswered", node=node, kind=kind, reason=type(error).__name__)
            raise NoAnswer(was_asked=True) from None
        finally:
            del self._waiting[key]
            self._owners[owner] -= 1
            if not self._owners[owner]:
                del self._owners[owner]

    async def _subscribe(self) -> None:
        """Once; the library subscribes again when it reconnects."""
        async with self._subscribing:
            if not self._subscribed:
                client = self._nats.client
                await client.subscribe(subjects.replies_to(self._process), cb=self._receive)
                self._subscribed = True

    async def _receive(self, message: Message) -> None:
        """A node may send any number of messages: those that nobody waits for cost nothing."""
        _, sender, _, id_ = message.subject.split(".")
        waiting = self._waiting.get((sender, id_))
        if waiting is None or waiting.done():
            return
        if (message.headers or {}).get("Status") == _NOBODY_LISTENS:
            waiting.set_exception(NoAnswer(was_asked=False))
            return
        try:
            answer = read_answer(message.data)
        except (msgspec.MsgspecError, TypeError) as error:
            log.warning("answer.malformed", node=sender, error=type(error).__name__)
            waiting.set_exception(NoAnswer(was_asked=True))
            return
        if (answer.node, answer.id) == (sender, id_):
            waiting.set_result(answer)
