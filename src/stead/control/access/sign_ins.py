"""Answers nodes that ask whether a sign-in link is valid."""

import msgspec
import structlog

from stead.control.access import magic_links
from stead.control.engines.nats import NATS_UNREACHABLE, Message, Nats
from stead.control.engines.postgres import DATABASE_FAILED, Database
from stead.protocol.sign_ins import encode, read_request
from stead.protocol.subjects import answer
from stead.shared.token_bucket import TokenBucket

REQUESTS_PER_SECOND, BURST = 20.0, 100
"""Of one node. Each is a transaction: a node that floods must not delay others."""
_SUBJECT, _QUEUE = "node.*.sign_in", "workers"

log = structlog.get_logger()


class SignIns:
    def __init__(self, nats_: Nats, database: Database) -> None:
        self._nats, self._database = nats_, database
        self._allowed: dict[str, TokenBucket] = {}
        self._subscribed = False

    async def start(self) -> None:
        """Can be called again if it failed. One of all workers gets each request."""
        if not self._subscribed:
            await self._nats.client.subscribe(_SUBJECT, queue=_QUEUE, cb=self._receive)
            self._subscribed = True

    async def _receive(self, message: Message) -> None:
        """NATS lets each node publish only under its own name, so the subject tells who asks. A node that
        gets no answer tells the visitor to try again."""
        sender = message.subject.split(".")[1]
        if not self._allowed.setdefault(sender, TokenBucket(REQUESTS_PER_SECOND, BURST)).take():
            return
        try:
            wanted = read_request(message.data)
        except (msgspec.MsgspecError, TypeError):
            log.warning("sign_in.malformed", node=sender)
            return
        if wanted.node != sender:
            return
        try:
            async with self._database.transaction() as tx:
                signed_in = await magic_links.redeem(tx, wanted)
            await self._nats.client.publish(answer(sender, wanted.id), encode(signed_in))
        except (*DATABASE_FAILED, *NATS_UNREACHABLE) as error:
            log.warning("sign_in.not_answered", node=sender, reason=type(error).__name__)
