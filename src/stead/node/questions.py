"""Answers what the API asks about sites of this node.

Nobody waits for long: each question has a time limit. Each site answers two questions at a time, so that its
visitors find free workers; a few more wait, and further ones are refused at once.
"""

import asyncio
from collections import Counter

import msgspec
import nats.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg

from stead.artifacts.refusals import printable
from stead.node.drivers.driver import Refusal
from stead.node.drivers.driver_set import DriverSets
from stead.node.nats_connection import NatsConnection
from stead.protocol import subjects
from stead.protocol.questions import (
    FAILED,
    INVALID,
    MAX_ANSWER_BYTES,
    MAX_REASON,
    NODE_BUSY,
    TIMEOUT,
    TOO_MANY,
    Answer,
    Question,
    encode,
    read_question,
)
from stead.shared.cancellation import raise_if_cancelled

PER_SITE = 8
"""How many questions about a site are answered or wait."""
PER_OWNER = 48
"""Of all sites of one owner together, so that nobody uses up what a node can answer."""
PER_OWNER_IF_CROWDED = 8
"""When half of the places of the node are taken, the others are for owners who need few."""
IN_ALL = 512
LOOK_SECONDS = 5.0
RETRY_SECONDS = 1.0

log = structlog.get_logger()


class Questions:
    def __init__(self, node: str, connection: NatsConnection, drivers: DriverSets) -> None:
        self._node, self._connection, self._drivers = node, connection, drivers
        self._open: Counter[tuple[str, str]] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Runs until it is cancelled."""
        try:
            while True:
                raise_if_cancelled()
                client = await self._connection.client()
                try:
                    await self._receive_all(client)
                except (nats.errors.Error, OSError) as error:
                    log.info("questions.unavailable", error=type(error).__name__)
                    await asyncio.sleep(RETRY_SECONDS)
        finally:
            for task in self._tasks:
                task.cancel()
            if self._tasks:
                await asyncio.wait(self._tasks)

    async def _receive_all(self, client: Client) -> None:
        """Return when the connection is closed for good. The library subscribes again when it reconnects."""
        subscription = await client.subscribe(subjects.question(self._node))
        while not client.is_closed:
            raise_if_cancelled()
            try:
                message = await subscription.next_msg(timeout=LOOK_SECONDS)
            except nats.errors.TimeoutError:
                continue
            self._receive(client, message)

    def _receive(self, client: Client, message: Msg) -> None:
        try:
            question = read_question(message.data)
        except (msgspec.MsgspecError, TypeError) as error:
            log.warning("question.malformed", error=type(error).__name__)
            return
        if question.node != self._node:
            return
        task = asyncio.create_task(self._reply(client, question))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _reply(self, client: Client, question: Question) -> None:
        answer = await self.answer(question)
        try:
            subject = subjects.reply(self._node, question.process, question.id)
            await client.publish(subject, encode(answer))
        except (nats.errors.Error, OSError) as error:
            log.info("question.not_answered", kind=question.kind, error=type(error).__name__)

    async def answer(self, question: Question) -> Answer:
        node = ("node", self._node)
        crowded = self._open[node] >= IN_ALL // 2
        limits = {
            ("environment", question.environment): PER_SITE,
            ("owner", question.owner or question.environment): PER_OWNER_IF_CROWDED if crowded else PER_OWNER,
            node: IN_ALL,
        }
        if self._open[node] >= IN_ALL:
            return self._refuse(question, NODE_BUSY, "the node is asked too many questions")
        if any(self._open[each] >= limit for each, limit in limits.items()):
            return self._refuse(question, TOO_MANY, "too many questions are asked at the same time")
        self._open.update(limits.keys())
        try:
            async with asyncio.timeout(question.seconds):
                body = await self._drivers[question.driver].answer(question)
        except Refusal as refusal:
            return self._refuse(question, refusal.code, refusal.reason)
        except TimeoutError:
            return self._refuse(question, TIMEOUT, f"there was no answer in {question.seconds:.0f} s")
        except Exception as error:  # noqa: BLE001 - whoever asks must not wait in vain
            log.warning("question.failed", kind=question.kind, error=type(error).__name__)
            return self._refuse(question, FAILED, "the question could not be answered")
        finally:
            self._open.subtract(limits.keys())
            self._open = +self._open
        if len(body) > MAX_ANSWER_BYTES:
            return self._refuse(question, INVALID, "the answer is too long")
        return Answer(self._node, question.id, body=body)

    def _refuse(self, question: Question, code: str, reason: str) -> Answer:
        return Answer(self._node, question.id, code, printable(reason)[:MAX_REASON])
