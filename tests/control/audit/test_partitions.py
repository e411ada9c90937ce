"""The trail lives in a table a month: the next ones are there in time, and old ones go."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from stead.control.engines.postgres import Database, Tx
from stead.control.outbox.audit import Actor, AuditEntry, maintain_partitions, record
from stead.shared.clock import wall_clock
from stead.shared.ids import AccountId, bound
from tests.teams import DAY, spare_database

JUNE = datetime(2027, 6, 15, 12, tzinfo=UTC)


@pytest.fixture
async def url(worker_id: str) -> AsyncIterator[str]:
    async with spare_database(f"stead_partitions_{worker_id}") as url:
        yield url


async def _keep(url: str, moment: datetime) -> None:
    database = Database(url, clock=lambda: moment)
    async with database.transaction() as tx:
        await maintain_partitions(tx)
    await database.close()


async def _partitions(tx: Tx) -> list[str]:
    names = await tx.all(
        str, "select inhrelid::regclass::text from pg_inherits where inhparent = 'audit_events'::regclass"
    )
    return sorted(name.removeprefix("audit_events_") for name in names)


@pytest.fixture
async def database(url: str) -> AsyncIterator[Database]:
    database = Database(url, clock=wall_clock)
    yield database
    await database.close()


async def _insert_of(tx: Tx, moment: datetime) -> str:
    id_ = f"{bound('aud', moment)}00{'0' * 14}"
    await tx.run(
        "insert into audit_events (id, event, outcome, actor_kind, meta, created_at)"
        " values ($1, 'team_update', 'success', 'system', '{}', $2)",
        *(id_, moment),
    )
    return id_


async def _place_of(tx: Tx, id_: str) -> str | None:
    place = await tx.value("select tableoid::regclass::text from audit_events where id = $1", id_)
    return place and str(place).removeprefix("audit_events_")


async def test_this_month_and_the_next_two_are_made(url: str, database: Database):
    await _keep(url, JUNE)
    async with database.reading() as tx:
        assert await _partitions(tx) == ["2027_06", "2027_07", "2027_08", "rest"]
    await _keep(url, datetime(2027, 12, 31, 23, 59, 59, tzinfo=UTC))
    async with database.reading() as tx:
        assert {"2027_12", "2028_01", "2028_02"} <= set(await _partitions(tx))


async def test_a_row_lands_in_the_partition_of_its_month(url: str, database: Database):
    await _keep(url, wall_clock())
    async with database.transaction() as tx:
        await record(tx, "team_update", "success", AuditEntry(Actor("member", AccountId("client_x"))))
        place = await tx.value("select tableoid::regclass::text from audit_events")
    assert place == f"audit_events_{wall_clock():%Y_%m}"


async def test_the_edges_of_a_month_fall_on_their_own_side(url: str, database: Database):
    await _keep(url, JUNE)
    async with database.transaction() as tx:
        first = await _insert_of(tx, datetime(2027, 7, 1, tzinfo=UTC))
        last = await _insert_of(tx, datetime(2027, 6, 30, 23, 59, 59, 999000, tzinfo=UTC))
        assert (await _place_of(tx, first), await _place_of(tx, last)) == ("2027_07", "2027_06")


async def test_keeping_them_twice_changes_nothing(url: str, database: Database):
    await _keep(url, JUNE)
    async with database.transaction() as tx:
        row = await _insert_of(tx, JUNE)
        before = await _partitions(tx)
    await _keep(url, JUNE)
    async with database.reading() as tx:
        assert await _partitions(tx) == before
        assert await _place_of(tx, row) == "2027_06"


async def test_two_processes_may_keep_them_at_once(url: str, database: Database):
    await asyncio.gather(*(_keep(url, JUNE) for _ in range(6)))
    async with database.reading() as tx:
        assert await _partitions(tx) == ["2027_06", "2027_07", "2027_08", "rest"]


async def test_they_are_kept_while_rows_are_written(url: str, database: Database):
    async def write(count: int) -> None:
        for _ in range(count):
            async with database.transaction() as tx:
                await record(tx, "team_update", "success", AuditEntry(Actor("member", AccountId("client_x"))))

    await _keep(url, wall_clock())
    await asyncio.gather(write(30), write(30), *(_keep(url, wall_clock()) for _ in range(4)))
    async with database.reading() as tx:
        assert await tx.value("select count(*) from audit_events") == 60


async def test_partitions_older_than_400_days_are_dropped(url: str, database: Database):
    await _keep(url, JUNE - 450 * DAY)
    async with database.transaction() as tx:
        assert await _partitions(tx) == ["2026_03", "2026_04", "2026_05", "rest"]
        gone = await _insert_of(tx, JUNE - 440 * DAY)
        kept = await _insert_of(tx, JUNE - 399 * DAY)
    await _keep(url, JUNE)
    async with database.reading() as tx:
        assert await _partitions(tx) == ["2026_05", "2027_06", "2027_07", "2027_08", "rest"]
        assert await _place_of(tx, gone) is None
        assert await _place_of(tx, kept) == "2026_05"


async def test_the_default_partition_forgets_after_400_days_too(url: str, database: Database):
    async with database.transaction() as tx:
        gone = await _insert_of(tx, JUNE - 401 * DAY)
        kept = await _insert_of(tx, JUNE - 399 * DAY)
    await _keep(url, JUNE)
    async with database.reading() as tx:
        assert await _place_of(tx, gone) is None
        assert await _place_of(tx, kept) == "rest"


async def test_rows_that_came_before_their_partition_stay_readable(url: str, database: Database):
    async with database.transaction() as tx:
        early = await _insert_of(tx, JUNE + 30 * DAY)
    await _keep(url, JUNE)
    async with database.transaction() as tx:
        assert await _partitions(tx) == ["2027_06", "2027_08", "rest"]
        assert await _place_of(tx, early) == "rest"
        late = await _insert_of(tx, JUNE + 31 * DAY)
        assert await _place_of(tx, late) == "rest"
