"""How long a transaction may keep its connection."""

import asyncio
import time

import pytest

from stead.control.engines import postgres_pool
from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database
from stead.control.settings import Settings
from stead.shared.clock import MovableClock

HOLD_SECONDS = 0.4


@pytest.fixture
def database(settings: Settings, clock: MovableClock, monkeypatch: pytest.MonkeyPatch) -> Database:
    """Connections are closed early, so that no test needs eight seconds."""
    monkeypatch.setattr(postgres_pool, "MAX_HOLD_SECONDS", HOLD_SECONDS)
    monkeypatch.setattr(postgres_pool, "CHECK_SECONDS", HOLD_SECONDS / 5)
    return Database(settings.database_url, clock=clock, size=1)


async def _count(database: Database, seconds: float) -> int:
    """One short statement after the other, in one transaction."""
    async with database.transaction() as tx:
        end, count = time.monotonic() + seconds, await tx.value("select 1")
        while time.monotonic() < end:
            count = await tx.value("select $1::int + 1", count)
    return int(count)


async def _wait_in_a_transaction(database: Database) -> None:
    async with database.transaction() as tx:
        await asyncio.sleep(HOLD_SECONDS * 3)
        await tx.value("select 1")


async def test_a_batch_of_short_statements_may_take_longer_than_one_statement(database: Database) -> None:
    assert await _count(database, HOLD_SECONDS * 3) > 1
    await database.close()


async def test_a_transaction_without_a_new_statement_is_closed(database: Database) -> None:
    with pytest.raises(DATABASE_UNREACHABLE):
        await _wait_in_a_transaction(database)
    assert await _count(database, 0) == 1, "the next one has a connection again"
    await database.close()


async def test_a_transaction_without_an_end_is_closed(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_pool, "MAX_TRANSACTION_SECONDS", HOLD_SECONDS * 2)
    with pytest.raises(DATABASE_UNREACHABLE):
        await _count(database, HOLD_SECONDS * 30)
    await database.close()
