"""The connection to NATS. It reconnects by itself, and a program starts without waiting for it.

Other modules take the types and errors of the NATS library from here.
"""

import asyncio
import contextlib

import nats
import nats.errors
import nats.js.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext
from nats.js.api import Header, PubAck

from stead.protocol.subjects import Program, inbox_prefix

log = structlog.get_logger()


Message = Msg
MESSAGE_TTL = Header.MSG_TTL
"""The header that says after how many seconds a message expires."""
NatsError = nats.errors.Error
NatsNotFound = nats.js.errors.NotFoundError


class NatsDown(Exception):
    """There is no usable connection right now."""


NATS_UNREACHABLE = (NatsDown, NatsError, OSError, TimeoutError)
"""What a failed request to NATS raises. Most requests can be repeated."""

__all__ = [
    "MESSAGE_TTL",
    "NATS_UNREACHABLE",
    "Client",
    "JetStreamContext",
    "Message",
    "Nats",
    "NatsDown",
    "NatsError",
    "NatsNotFound",
    "PubAck",
    "Subscription",
]


class Nats:
    def __init__(self, url: str, *, user: str, password: str, program: Program) -> None:
        self._url, self._user, self._password, self._program = url, user, password, program
        self._client: Client | None = None
        self._connecting: asyncio.Task[None] | None = None

    @property
    def client(self) -> Client:
        """The connected client. Raises NatsDown while there is no connection."""
        if self._client is None or not self._client.is_connected:
            raise NatsDown
        return self._client

    @property
    def js(self) -> JetStreamContext:
        return self.client.jetstream(timeout=5)

    @property
    def connected(self) -> bool:
        return self._client is not None and self._client.is_connected

    def start(self) -> None:
        self._connecting = asyncio.create_task(self._connect())

    async def ready(self) -> None:
        """Wait for the first connection."""
        if self._connecting is not None:
            await asyncio.shield(self._connecting)

    async def stop(self) -> None:
        if self._connecting is not None:
            self._connecting.cancel()
            await asyncio.gather(self._connecting, return_exceptions=True)
        if self._client is not None:
            with contextlib.suppress(Exception):
                await self._client.close()

    async def _connect(self) -> None:
        """Retry until the first connection succeeds. After that, the library itself reconnects forever."""
        while self._client is None:
            try:
                self._client = await nats.connect(
                    self._url,
                    user=self._user,
                    password=self._password,
                    name=self._program.value,
                    inbox_prefix=inbox_prefix(self._program).encode(),
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=0.25,
                    connect_timeout=2,
                    error_cb=_log_error,
                )
            except (OSError, TimeoutError, NatsError) as error:
                log.warning("nats.unreachable", reason=type(error).__name__)
                await asyncio.sleep(0.5)


async def _log_error(error: Exception) -> None:
    log.warning("nats.error", reason=type(error).__name__)
