"""How long a transaction may keep its connection."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest

from stead.control.engines import postgres_pool
from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database
from stead.control.settings import Settings
from stead.shared.clock import MovableClock
from tests.patience import slowdown


@pytest.fixture
def hold_seconds(monkeypatch: pytest.MonkeyPatch) -> float:
    """Connections are closed early, so that no test needs eight seconds."""
    seconds = 0.4 * slowdown()
    monkeypatch.setattr(postgres_pool, "MAX_HOLD_SECONDS", seconds)
    monkeypatch.setattr(postgres_pool, "CHECK_SECONDS", seconds / 5)
    return seconds


@pytest.fixture
async def database(settings: Settings, clock: MovableClock) -> AsyncIterator[Database]:
    database = Database(settings.database_url, clock=clock, size=1)
    yield database
    await database.close()


async def _count(database: Database, seconds: float) -> int:
    """One short statement after the other, in one transaction."""
    async with database.transaction() as tx:
        end, count = time.monotonic() + seconds, await tx.value("select 1")
        while time.monotonic() < end:
            count = await tx.value("select $1::int + 1", count)
    return int(count)


async def _wait_in_a_transaction(database: Database, seconds: float) -> None:
    async with database.transaction() as tx:
        await asyncio.sleep(seconds)
        await tx.value("select 1")


async def test_a_batch_of_short_statements_may_take_longer_than_one_statement(
    database: Database, hold_seconds: float
) -> None:
    assert await _count(database, hold_seconds * 3) > 1


async def test_a_transaction_without_a_new_statement_is_closed(
    database: Database, hold_seconds: float
) -> None:
    with pytest.raises(DATABASE_UNREACHABLE):
        await _wait_in_a_transaction(database, hold_seconds * 3)
    assert await _count(database, 0) == 1, "the next one has a connection again"


async def test_a_transaction_without_an_end_is_closed(
    database: Database, hold_seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_pool, "MAX_TRANSACTION_SECONDS", hold_seconds * 2)
    with pytest.raises(DATABASE_UNREACHABLE):
        await _count(database, hold_seconds * 30)
