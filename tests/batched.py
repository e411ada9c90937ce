"""Inserts many rows at once: a round trip for each kind of row instead of one for each row."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

from stead.control.engines.postgres import Tx

T = TypeVar("T")


class _Batch(Tx):
    """Keeps insertions until something else is executed. Rows of one statement are inserted together, in the
    order in which the statements were first used, so that a row can refer to those before it."""

    __slots__ = ("_rows",)

    def __init__(self, tx: Tx) -> None:
        super().__init__(tx._connection, tx._clock)
        self._now = tx.now
        self._rows: dict[str, list[tuple[object, ...]]] = {}

    async def flush(self) -> None:
        rows, self._rows = self._rows, {}
        for sql, values in rows.items():
            await self.run_many(sql, values)

    async def run(self, sql: str, *args: object) -> int:
        if sql.startswith("insert "):
            self._rows.setdefault(sql, []).append(args)
            return 1
        await self.flush()
        return await super().run(sql, *args)

    async def one(self, row: Callable[..., T], sql: str, *args: object) -> T | None:
        await self.flush()
        return await super().one(row, sql, *args)

    async def all(self, row: Callable[..., T], sql: str, *args: object) -> list[T]:
        await self.flush()
        return await super().all(row, sql, *args)

    async def value(self, sql: str, *args: object) -> Any:
        await self.flush()
        return await super().value(sql, *args)


@asynccontextmanager
async def batched(tx: Tx) -> AsyncIterator[Tx]:
    """In the block, insertions are collected. The number of rows that they return is not counted."""
    batch = _Batch(tx)
    yield batch
    await batch.flush()
