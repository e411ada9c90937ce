"""A pool of PostgreSQL connections that costs nothing while one is free.

asyncpg's own pool pays a task per release, a tenth of a small read. This one hands out the connection used
last, opens another only when all are busy, and forgets one that died, so that a restarted server needs no
restart here.
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

LONGEST_SECONDS = 8.0
"""How long one request may hold a connection; a little more than a statement may take."""
WATCH_SECONDS = 1.0


class Pool:
    def __init__(self, url: str, *, size: int, patience: float) -> None:
        self._url, self._size, self._patience = url, size, patience
        self._idle: list[Any] = []
        self._open = 0
        self._waiting: deque[asyncio.Future[Any]] = deque()
        self._taken: dict[Any, float] = {}
        self._watch: asyncio.TimerHandle | None = None

    async def take(self) -> Any:
        connection = await self._take()
        loop = asyncio.get_running_loop()
        self._taken[connection] = loop.time()
        if self._watch is None:
            self._watch = loop.call_later(WATCH_SECONDS, self._end_the_overdue, loop)
        return connection

    async def _take(self) -> Any:
        while self._idle:
            connection = self._idle.pop()
            if not connection.is_closed():
                return connection
            self._open -= 1
        async with asyncio.timeout(self._patience):
            while self._open >= self._size:
                if (connection := await self._wait()) is not None:
                    return connection
            return await self._connect()

    def give(self, connection: Any, *, broken: bool = False) -> None:
        """Take a connection back. A broken one, which may still be mid-statement, is thrown away."""
        self._taken.pop(connection, None)
        if broken or connection.is_closed() or connection.is_in_transaction():
            connection.terminate()
            self._open -= 1
            self._pass_on(None)
        else:
            self._pass_on(connection)

    def _end_the_overdue(self, loop: asyncio.AbstractEventLoop) -> None:
        """A server that hangs keeps its connections open; whoever waits on one must not wait for ever."""
        self._watch = None
        for connection, since in list(self._taken.items()):
            if loop.time() - since > LONGEST_SECONDS:
                connection.terminate()
        if self._taken:
            self._watch = loop.call_later(WATCH_SECONDS, self._end_the_overdue, loop)

    async def close(self) -> None:
        for connection in self._idle:
            connection.terminate()
        self._idle.clear()

    async def _connect(self) -> Any:
        self._open += 1
        connection: Any = None
        try:
            connection = await asyncpg.connect(self._url, timeout=self._patience, server_settings=_SESSION)
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
        """Hand a connection, or the room for a new one, to whoever has waited longest."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(connection)
                return
        if connection is not None:
            self._idle.append(connection)


def _encode_json(value: object) -> str:
    return msgspec.json.encode(value).decode()
