"""One multiplexed Redis connection. The commands of one event loop iteration are sent in one write.

A request never waits for a lost server: without a connection, every command fails immediately. If a command
gets no reply in time, all pending commands fail and a new connection is opened.
"""

import asyncio
import contextlib
import ssl
from collections import deque
from collections.abc import Callable
from typing import Any, cast
from urllib.parse import unquote, urlsplit

import hiredis
import structlog

from stead.shared.cancellation import cancel_all

log = structlog.get_logger()

Argument = str | bytes | int
FIRST_RETRY, LAST_RETRY = 0.02, 1.0

ReplyError = hiredis.ReplyError
"""An error that the server replied with."""


class RedisDown(Exception):
    """There is no usable connection right now."""


def pack(*command: Argument) -> bytes:
    return bytes(hiredis.pack_command(command))  # type: ignore[arg-type]  # its stub is too narrow


class Redis:
    """`on_connect` is called before a new connection is first used."""

    def __init__(self, url: str, *, timeout: float = 0.5, on_connect: Callable[[], None]) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 6379
        if parts.scheme not in ("redis", "rediss"):
            raise ValueError("the URL of Redis must begin with redis:// or rediss://")
        self._tls = ssl.create_default_context() if parts.scheme == "rediss" else None
        self._database = parts.path.strip("/") or "0"
        self._login = [unquote(part) for part in (parts.username, parts.password) if part]
        self._timeout = timeout
        self._on_connect = on_connect
        self._connection: _Connection | None = None
        self._keeper: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        return self._connection is not None

    async def start(self) -> None:
        """Connect. If the server is unreachable, keep trying in the background."""
        with contextlib.suppress(RedisDown):
            await self._connect()
        self._keeper = asyncio.create_task(self._keep_connected())

    async def close(self) -> None:
        await cancel_all([self._keeper])
        if self._connection is not None:
            self._connection.abort()
            self._connection = None

    def execute(self, *command: Argument) -> asyncio.Future[Any]:
        """The reply to a command. An error reply is raised as `ReplyError`."""
        return self.execute_packed(pack(*command))

    def execute_packed(self, command: bytes) -> asyncio.Future[Any]:
        if self._connection is None:
            raise RedisDown
        return self._connection.send(command)

    async def _connect(self) -> None:
        loop = asyncio.get_running_loop()
        connection = _Connection(loop, self._timeout)
        try:
            async with asyncio.timeout(self._timeout):
                await loop.create_connection(lambda: connection, self._host, self._port, ssl=self._tls)
                if self._login:
                    await connection.send(pack("AUTH", *self._login))
                await connection.send(pack("SELECT", self._database))
        except (OSError, TimeoutError, ReplyError) as error:
            connection.abort()
            raise RedisDown from error
        self._on_connect()
        self._connection = connection

    async def _keep_connected(self) -> None:
        while True:
            if self._connection is not None:
                await self._connection.lost.wait()
                self._connection = None
                log.warning("redis.lost")
            await self._reconnect()

    async def _reconnect(self) -> None:
        pause = FIRST_RETRY
        while self._connection is None:
            try:
                await self._connect()
            except Exception as error:  # noqa: BLE001 - otherwise this process would never connect again
                if not isinstance(error, RedisDown):
                    log.error("redis.failed", error=type(error).__name__)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LAST_RETRY)
            else:
                log.info("redis.connected")


class _Connection(asyncio.Protocol):
    def __init__(self, loop: asyncio.AbstractEventLoop, timeout: float) -> None:
        self._loop, self._timeout = loop, timeout
        self._reader = hiredis.Reader()
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._unsent: list[bytes] = []
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None
        self.lost = asyncio.Event()

    def send(self, command: bytes) -> asyncio.Future[Any]:
        if self.lost.is_set():
            raise RedisDown
        reply = self._loop.create_future()
        self._waiting.append(reply)
        if not self._unsent:
            self._loop.call_soon(self._flush)
        self._unsent.append(command)
        if self._timer is None:
            self._timer = self._loop.call_later(self._timeout, self._check_timeout, reply)
        return reply

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def connection_lost(self, _error: Exception | None) -> None:
        self.lost.set()
        if self._timer is not None:
            self._timer.cancel()
        while self._waiting:
            reply = self._waiting.popleft()
            if not reply.done():
                reply.set_exception(RedisDown())

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        while (value := self._reader.gets()) is not False:
            reply = self._waiting.popleft()
            if reply.done():
                continue
            if isinstance(value, Exception):
                reply.set_exception(value)
            else:
                reply.set_result(value)

    def _flush(self) -> None:
        if self._transport is not None and not self.lost.is_set():
            self._transport.write(b"".join(self._unsent))
        self._unsent.clear()

    def _check_timeout(self, oldest: asyncio.Future[Any]) -> None:
        """One timer for all commands: the oldest one at the start of the timer must have its reply by now."""
        self._timer = None
        if not self._waiting:
            return
        if self._waiting[0] is oldest:
            self.abort()
        else:
            self._timer = self._loop.call_later(self._timeout, self._check_timeout, self._waiting[0])
