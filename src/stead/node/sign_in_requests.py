"""Asks the control plane over NATS whether a sign-in link is valid."""

import asyncio
import secrets

import msgspec
import nats.errors
import structlog

from stead.node.nats_connection import NatsConnection
from stead.protocol import subjects
from stead.protocol.sign_ins import SignIn, SignInRequest, encode, read_sign_in

ANSWER_SECONDS = 5.0
AT_ONCE = 16

log = structlog.get_logger()


class SignInRequests:
    def __init__(self, node: str, connection: NatsConnection) -> None:
        self._node, self._connection = node, connection
        self._places = asyncio.Semaphore(AT_ONCE)

    async def ask(self, environment: str, host: str, token_hash: bytes) -> SignIn | None:
        """None if there is no answer in time. It is asked once: whoever has used the link may do so again,
        unless only the answer was lost."""
        request = SignInRequest(self._node, secrets.token_hex(16), environment, host, token_hash)
        try:
            async with asyncio.timeout(ANSWER_SECONDS), self._places:
                return await self._exchange(request)
        except (nats.errors.Error, OSError, TimeoutError, msgspec.MsgspecError) as error:
            log.warning("sign_in.unanswered", environment=environment, error=type(error).__name__)
            return None

    async def _exchange(self, request: SignInRequest) -> SignIn:
        client = await self._connection.client()
        answers = await client.subscribe(subjects.answer(self._node, request.id))
        try:
            await client.publish(subjects.sign_in(self._node), encode(request))
            return read_sign_in((await answers.next_msg(timeout=ANSWER_SECONDS)).data)
        finally:
            await answers.unsubscribe()
