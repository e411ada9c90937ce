"""The connection to NATS. It reconnects by itself, and a program starts without waiting for it.

Other modules take the types and errors of the NATS library from here.
"""

import asyncio
import contextlib
import time

import nats.errors
import nats.js.errors
import structlog
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.aio.subscription import Subscription
from nats.js import JetStreamContext
from nats.js.api import Header, PubAck

from stead.control.engines.transaction_guard import require_no_transaction
from stead.protocol.subjects import Program, inbox_prefix
from stead.shared.cancellation import cancel_all, raise_if_cancelled
from stead.shared.nats_urls import connection_options

log = structlog.get_logger()

CHECK_SECONDS = 1.0
ANSWER_SECONDS = 2.0
"""A server that does not answer a ping for this long hangs."""

Message = Msg
MESSAGE_TTL = Header.MSG_TTL
"""The header that says after how many seconds a message expires."""
NatsError = nats.errors.Error
NatsApiError = nats.js.errors.APIError
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
    "NatsApiError",
    "NatsDown",
    "NatsError",
    "NatsNotFound",
    "PubAck",
    "Subscription",
]


class _Client(Client):
    """The client of the library, without two of its errors."""

    async def _send_ping(self, future: asyncio.Future[bool] | None = None) -> None:
        """The library sends the ping of a `flush` before what waits in its buffer. The answer then says
        nothing about that: the server may not know a new subscription yet."""
        if self.is_connected and self._transport is not None and self._pending:
            self._transport.writelines(self._pending)
            self._pending, self._pending_data_size = [], 0
        await super()._send_ping(future)

    async def _process_pong(self) -> None:
        """The library stops reading, and says nothing, when a server answers a `flush` that was cancelled or
        took too long. The program would be deaf until pings are missed."""
        if self._pongs and self._pongs[0].done():
            # Nobody waits for this answer any more.
            self._pongs[0] = asyncio.get_running_loop().create_future()
        await super()._process_pong()


class Nats:
    def __init__(self, url: str, *, user: str, password: str, program: Program) -> None:
        self._url, self._user, self._password, self._program = url, user, password, program
        self._options = connection_options(url)
        self._client: Client | None = None
        self._connecting: asyncio.Task[None] | None = None
        self._watching: asyncio.Task[None] | None = None
        self._responding_since: float | None = None
        """Also read by the thread that answers health checks."""

    @property
    def client(self) -> Client:
        """The connected client. Raises NatsDown while there is no connection."""
        require_no_transaction("NATS")
        if self._client is None or not self._client.is_connected:
            raise NatsDown
        return self._client

    @property
    def js(self) -> JetStreamContext:
        return self.client.jetstream(timeout=5)

    def has_responded_for(self, seconds: float = 0.0) -> bool:
        """Whether the server has answered pings, without a break, for at least this long."""
        since = self._responding_since
        return since is not None and time.monotonic() - since >= seconds

    async def flush(self, seconds: float) -> None:
        """Wait until the server has processed everything that was sent. Raises one of NATS_UNREACHABLE."""
        await self.client.flush(timeout=seconds)  # type: ignore[arg-type] # a fraction is fine

    def start(self) -> None:
        self._connecting = asyncio.create_task(self._connect())
        self._watching = asyncio.create_task(self._watch())

    async def ready(self) -> None:
        """Wait for the first connection."""
        if self._connecting is not None:
            await asyncio.shield(self._connecting)

    async def stop(self) -> None:
        await cancel_all([self._connecting, self._watching])
        if self._client is not None:
            with contextlib.suppress(Exception):
                await self._client.close()

    async def _connect(self) -> None:
        """Retry until the first connection succeeds. After that, the library itself reconnects forever."""
        while self._client is None:
            try:
                client = _Client()
                await client.connect(
                    self._url,
                    user=self._user,
                    password=self._password,
                    name=self._program.value,
                    inbox_prefix=inbox_prefix(self._program).encode(),
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=0.25,  # type: ignore[arg-type] # a fraction is fine
                    connect_timeout=2,
                    error_cb=_log_error,
                    **self._options,
                )
                self._client = client
            except Exception as error:  # noqa: BLE001 - otherwise this process would never connect
                log.warning("nats.unreachable", reason=type(error).__name__)
                await asyncio.sleep(0.5)
            else:
                self._responding_since = time.monotonic()

    async def _watch(self) -> None:
        """Notice that the server does not answer: a server that hangs keeps its connections open."""
        while True:
            raise_if_cancelled()
            await asyncio.sleep(CHECK_SECONDS)
            try:
                await self.flush(ANSWER_SECONDS)
            except Exception as error:  # noqa: BLE001 - otherwise the last state would stay for ever
                if self._responding_since is not None:
                    log.warning("nats.silent", reason=type(error).__name__)
                self._responding_since = None
            else:
                self._responding_since = self._responding_since or time.monotonic()


async def _log_error(error: Exception) -> None:
    log.warning("nats.error", reason=type(error).__name__)
