"""PostgreSQL. Transactions are opened and committed only here: one for each mutation.

A read opens no transaction: each of its statements is its own transaction.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import asyncpg

from stead.control.engines.postgres_pool import Pool
from stead.control.engines.transaction_guard import open_transaction
from stead.shared.clock import Clock

T = TypeVar("T")

DATABASE_UNREACHABLE = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.CannotConnectNowError,
    asyncpg.TooManyConnectionsError,
    asyncpg.DiskFullError,
)
StatementTimeout = asyncpg.QueryCanceledError
"""A statement took too long. The database is reachable, and most likely busy."""
DATABASE_FAILED = (*DATABASE_UNREACHABLE, StatementTimeout)
"""What may succeed if it is tried again a little later."""
UniqueViolation = asyncpg.UniqueViolationError
Deadlock = asyncpg.DeadlockDetectedError


class Invalidation(NamedTuple):
    """A row of `outdated_subjects`: a credential or account whose cached principals are stale."""

    id: int
    subject: str


class Tx:
    """Runs statements in the caller's transaction. The columns of a row become the arguments of `row`.

    `invalidations` collects the cached principals to invalidate after the commit.
    """

    __slots__ = ("_clock", "_connection", "_now", "invalidations")

    def __init__(self, connection: Any, clock: Clock) -> None:
        self._connection, self._clock = connection, clock
        self._now: datetime | None = None
        self.invalidations: list[Invalidation] = []

    @property
    def now(self) -> datetime:
        """The current time, the same for the whole transaction."""
        if self._now is None:
            self._now = self._clock()
        return self._now

    async def one(self, row: Callable[..., T], sql: str, *args: object) -> T | None:
        record = await self._connection.fetchrow(sql, *args)
        return None if record is None else row(*record)

    async def all(self, row: Callable[..., T], sql: str, *args: object) -> list[T]:
        return [row(*record) for record in await self._connection.fetch(sql, *args)]

    async def value(self, sql: str, *args: object) -> Any:
        return await self._connection.fetchval(sql, *args)

    async def run(self, sql: str, *args: object) -> int:
        """Execute a statement and return the number of affected rows."""
        status = await self._connection.execute(sql, *args)
        count = status.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    @asynccontextmanager
    async def savepoint(self) -> AsyncIterator[None]:
        """If the block raises, only its own changes are undone, and the transaction can go on."""
        async with self._connection.transaction():
            yield

    async def run_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        await self._connection.executemany(sql, rows)


class ReadConnection:
    """A connection from the pool for the statements of one read."""

    __slots__ = ("_clock", "_connection", "_pool")

    def __init__(self, pool: Pool, clock: Clock) -> None:
        self._pool, self._clock = pool, clock
        self._connection: Any = None

    async def __aenter__(self) -> Tx:
        self._connection = await self._pool.acquire()
        return Tx(self._connection, self._clock)

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._pool.release(self._connection, broken=kind is not None and not issubclass(kind, Exception))


class Database:
    """Connections are opened on first use, so a program can start before the server does."""

    def __init__(self, url: str, *, clock: Clock, size: int = 16, timeout: float = 5.0) -> None:
        self._pool = Pool(url, size=size, timeout=timeout)
        self._clock = clock

    def now(self) -> datetime:
        """The current time, outside of a transaction."""
        return self._clock()

    def reading(self) -> ReadConnection:
        return ReadConnection(self._pool, self._clock)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        async with self.reading() as tx, tx._connection.transaction():  # noqa: SLF001 - the only place to open one
            with open_transaction():
                yield tx

    async def close(self) -> None:
        await self._pool.close()
