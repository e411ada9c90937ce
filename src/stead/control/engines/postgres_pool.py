"""A pool of PostgreSQL connections with almost no overhead while a connection is free.

The pool of asyncpg creates a task for each release, which costs a tenth of a small read. This pool hands out
the connection that was used last, opens another only when all are busy, and drops closed connections, so that
it recovers by itself after a restart of the server.
"""

import asyncio
from collections import deque
from typing import Any

import asyncpg
import msgspec

_SESSION = {
    "application_name": "stead",
    "jit": "off",
    "statement_timeout": "7s",
    "idle_in_transaction_session_timeout": "30s",
}

MAX_HOLD_SECONDS = 8.0
"""How long a connection may be held without a new statement: slightly longer than the statement timeout."""
MAX_TRANSACTION_SECONDS = 20.0
"""How long a connection may be held at all: a batch of many statements needs seconds on a busy machine. This
is shorter than the time limit of a step that is one transaction (`temporal_workflow.py`)."""
CHECK_SECONDS = 1.0


class _Hold:
    """When a connection was acquired, and when a check last noticed a new statement."""

    __slots__ = ("began", "statement_began", "statements")

    def __init__(self, now: float, statements: int) -> None:
        self.began = self.statement_began = now
        self.statements = statements

    def is_overdue(self, now: float, statements: int) -> bool:
        if statements != self.statements:
            self.statements, self.statement_began = statements, now
        return now - self.statement_began > MAX_HOLD_SECONDS or now - self.began > MAX_TRANSACTION_SECONDS


class Pool:
    def __init__(self, url: str, *, size: int, timeout: float) -> None:
        self._url, self._size, self._timeout = url, size, timeout
        self._idle: list[Any] = []
        self._open = 0
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._acquired: dict[Any, _Hold] = {}
        self._check: asyncio.TimerHandle | None = None

    async def acquire(self) -> Any:
        connection = await self._acquire()
        loop = asyncio.get_running_loop()
        self._acquired[connection] = _Hold(loop.time(), _count_statements(connection))
        if self._check is None:
            self._check = loop.call_later(CHECK_SECONDS, self._close_overdue, loop)
        return connection

    async def _acquire(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._open -= 1
        async with asyncio.timeout(self._timeout):
            while self._open >= self._size:
                if (connection := await self._wait()) is not None:
                    return connection
            return await self._connect()

    def release(self, connection: Any, *, broken: bool = False) -> None:
        """Return a connection to the pool. A broken one is closed: a statement may still be running on it."""
        self._acquired.pop(connection, None)
        if broken or connection.is_closed() or connection.is_in_transaction():
            connection.terminate()
            self._open -= 1
            self._pass_on(None)
        else:
            self._pass_on(connection)

    def _close_overdue(self, loop: asyncio.AbstractEventLoop) -> None:
        """Close connections that are held too long: a server that hangs would keep them open forever."""
        self._check = None
        for connection, hold in list(self._acquired.items()):
            if connection.is_closed():
                continue  # and not released yet
            if hold.is_overdue(loop.time(), _count_statements(connection)):
                connection.terminate()
        if self._acquired:
            self._check = loop.call_later(CHECK_SECONDS, self._close_overdue, loop)

    async def close(self) -> None:
        for connection in self._idle:
            connection.terminate()
        self._idle.clear()

    async def _connect(self) -> Any:
        self._open += 1
        connection: Any = None
        try:
            connection = await asyncpg.connect(self._url, timeout=self._timeout, server_settings=_SESSION)
            await connection.set_type_codec(
                "jsonb",
                schema="pg_catalog",
                encoder=_encode_json,
                decoder=msgspec.json.decode,
                format="text",
            )
        except BaseException:
            if connection is not None:
                connection.terminate()
            self._open -= 1
            self._pass_on(None)
            raise
        return connection

    async def _wait(self) -> Any:
        turn: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            return await turn
        except BaseException:
            if turn.done() and not turn.cancelled():
                self._pass_on(turn.result())
            raise

    def _pass_on(self, connection: Any | None) -> None:
        """Give a connection, or permission to open a new one, to the request that has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(connection)
                return
        if connection is not None:
            self._idle.append(connection)


def _count_statements(connection: Any) -> int:
    """How many statements the connection has sent. asyncpg's own pool reads this attribute, too."""
    count: int = connection._protocol.queries_count  # noqa: SLF001 - counting here would cost time in each statement
    return count


def _encode_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
