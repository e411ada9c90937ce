"""PostgreSQL: one transaction per mutation, opened and committed only here.

A read opens no transaction: each of its statements is one.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Any, NamedTuple, TypeVar

import asyncpg

from stead.control.engines.postgres_pool import Pool
from stead.shared.clock import Clock

T = TypeVar("T")

DATABASE_UNREACHABLE = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
    asyncpg.PostgresConnectionError,
    asyncpg.OperatorInterventionError,
    asyncpg.TooManyConnectionsError,
)
UniqueViolation = asyncpg.UniqueViolationError


class Invalidation(NamedTuple):
    """A credential or account whose cached copies must go, as it was noted."""

    id: int
    subject: str


class Tx:
    """Statements inside the caller's transaction. A row becomes the arguments of what was asked for.

    `outdated` collects the credentials and accounts whose cached copies must go once this commits.
    """

    __slots__ = ("_clock", "_connection", "_now", "invalidations")

    def __init__(self, connection: Any, clock: Clock) -> None:
        self._connection, self._clock = connection, clock
        self._now: datetime | None = None
        self.invalidations: list[Invalidation] = []

    @property
    def now(self) -> datetime:
        """One moment for the whole transaction."""
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
        """Execute a statement and say how many rows it touched."""
        status = await self._connection.execute(sql, *args)
        count = status.rpartition(" ")[2]
        return int(count) if count.isdigit() else 0

    async def run_many(self, sql: str, rows: Sequence[Sequence[object]]) -> None:
        await self._connection.executemany(sql, rows)


class Reading:
    """A connection for the statements of one read."""

    __slots__ = ("_clock", "_connection", "_pool")

    def __init__(self, pool: Pool, clock: Clock) -> None:
        self._pool, self._clock = pool, clock
        self._connection: Any = None

    async def __aenter__(self) -> Tx:
        self._connection = await self._pool.take()
        return Tx(self._connection, self._clock)

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._pool.give(self._connection, broken=kind is not None and not issubclass(kind, Exception))


class Database:
    """Connections are opened when they are first needed, so the server may be away when a program starts."""

    def __init__(self, url: str, *, clock: Clock, size: int = 16, patience: float = 5.0) -> None:
        self._pool = Pool(url, size=size, patience=patience)
        self._clock = clock

    def reading(self) -> Reading:
        return Reading(self._pool, self._clock)

    @asynccontextmanager
    async def transaction(self) -> AsyncIterator[Tx]:
        async with self.reading() as tx, tx._connection.transaction():  # noqa: SLF001 - only here is it opened
            yield tx

    async def close(self) -> None:
        await self._pool.close()
