"""The NATS connection of a node. It reconnects for ever, also after the server has rejected it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import nats
import nats.errors
import structlog
from nats.aio.client import Client
from nats.js import JetStreamContext

from stead.node.settings import Settings
from stead.protocol.subjects import Node, inbox_prefix
from stead.shared.cancellation import cancel_all, raise_if_cancelled
from stead.shared.nats_urls import connection_options

RETRY_SECONDS = 0.5
MAX_RETRY_SECONDS = 5.0

log = structlog.get_logger()


class NatsConnection:
    def __init__(self, settings: Settings) -> None:
        self._settings, self._options = settings, connection_options(settings.nats_url)
        self._client: Client | None = None
        self._context: JetStreamContext | None = None
        self._up, self._closed = asyncio.Event(), asyncio.Event()
        self._logged_error: type[Exception] | None = None

    async def client(self) -> Client:
        """The connected client. Waits while there is no connection."""
        while self._client is None or not self._client.is_connected:
            self._up.clear()
            await self._up.wait()
        return self._client

    async def jetstream(self) -> JetStreamContext:
        """One context per connection, because each context has its own subscription for acknowledgements."""
        client = await self.client()
        if self._context is None:
            self._context = client.jetstream()
        return self._context

    @property
    def connected(self) -> bool:
        return self._client is not None and bool(self._client.is_connected)

    @asynccontextmanager
    async def keep_open(self) -> AsyncIterator[None]:
        task = asyncio.create_task(self._maintain())
        try:
            yield
        finally:
            await cancel_all([task])
            if self._client is not None:
                await self._client.close()

    async def _maintain(self) -> None:
        while True:
            client = await self._connect()
            # Failed attempts have set it as well.
            self._closed.clear()
            self._client, self._context = client, None
            raise_if_cancelled()
            self._on_connected("nats.connected")
            if not client.is_closed:
                await self._closed.wait()
            log.warning("nats.closed")

    async def _connect(self) -> Client:
        settings, pause = self._settings, RETRY_SECONDS
        while True:
            try:
                return await nats.connect(
                    settings.nats_url,
                    user=settings.nats_user,
                    password=settings.nats_password,
                    inbox_prefix=inbox_prefix(Node(settings.node_id)).encode(),
                    name=f"stead-node {settings.node_id}",
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=RETRY_SECONDS,
                    error_cb=self._on_error,
                    disconnected_cb=self._on_disconnected,
                    reconnected_cb=self._on_reconnected,
                    closed_cb=self._on_closed,
                    **self._options,
                )
            except (nats.errors.Error, OSError) as error:
                await self._on_error(error)
            await asyncio.sleep(pause)
            pause = min(2 * pause, MAX_RETRY_SECONDS)

    async def _on_error(self, error: Exception) -> None:
        # Every attempt reports the same error; it is logged once.
        if type(error) is not self._logged_error:
            self._logged_error = type(error)
            log.warning("nats.error", error=type(error).__name__)

    async def _on_disconnected(self) -> None:
        log.warning("nats.disconnected")

    async def _on_reconnected(self) -> None:
        self._on_connected("nats.reconnected")

    async def _on_closed(self) -> None:
        self._closed.set()

    def _on_connected(self, event: str) -> None:
        self._logged_error = None
        self._up.set()
        log.info(event)
