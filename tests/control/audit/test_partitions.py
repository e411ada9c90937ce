"""The audit trail has a partition per month: future ones are created in advance, old ones are dropped."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime

import pytest

from stead.control.engines.postgres import Database, Tx
from stead.control.outbox.audit import Actor, AuditEntry, maintain_partitions, record
from stead.shared.clock import wall_clock
from stead.shared.ids import AccountId, lower_bound
from tests.teams import DAY, spare_database

JUNE = datetime(2027, 6, 15, 12, tzinfo=UTC)


@pytest.fixture
async def url(worker_id: str) -> AsyncIterator[str]:
    async with spare_database(f"stead_partitions_{worker_id}") as url:
        yield url


async def _maintain(url: str, moment: datetime) -> None:
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


async def _insert_entry(tx: Tx, moment: datetime) -> str:
    id_ = f"{lower_bound('aud', moment)}00{'0' * 14}"
    await tx.run(
        "insert into audit_events (id, event, outcome, actor_kind, meta, created_at)"
        " values ($1, 'team_update', 'success', 'system', '{}', $2)",
        *(id_, moment),
    )
    return id_


async def _partition_of(tx: Tx, id_: str) -> str | None:
    partition = await tx.value("select tableoid::regclass::text from audit_events where id = $1", id_)
    return partition and str(partition).removeprefix("audit_events_")


async def test_this_month_and_the_next_two_are_created(url: str, database: Database):
    await _maintain(url, JUNE)
    async with database.reading() as tx:
        assert await _partitions(tx) == ["2027_06", "2027_07", "2027_08", "rest"]
    await _maintain(url, datetime(2027, 12, 31, 23, 59, 59, tzinfo=UTC))
    async with database.reading() as tx:
        assert {"2027_12", "2028_01", "2028_02"} <= set(await _partitions(tx))


async def test_an_entry_is_stored_in_the_partition_of_its_month(url: str, database: Database):
    await _maintain(url, wall_clock())
    async with database.transaction() as tx:
        await record(tx, "team_update", "success", AuditEntry(Actor("member", AccountId("client_x"))))
        partition = await tx.value("select tableoid::regclass::text from audit_events")
    assert partition == f"audit_events_{wall_clock():%Y_%m}"


async def test_the_first_and_last_moments_of_a_month_are_in_its_partition(url: str, database: Database):
    await _maintain(url, JUNE)
    async with database.transaction() as tx:
        first = await _insert_entry(tx, datetime(2027, 7, 1, tzinfo=UTC))
        last = await _insert_entry(tx, datetime(2027, 6, 30, 23, 59, 59, 999000, tzinfo=UTC))
        assert (await _partition_of(tx, first), await _partition_of(tx, last)) == ("2027_07", "2027_06")


async def test_maintaining_twice_changes_nothing(url: str, database: Database):
    await _maintain(url, JUNE)
    async with database.transaction() as tx:
        row = await _insert_entry(tx, JUNE)
        before = await _partitions(tx)
    await _maintain(url, JUNE)
    async with database.reading() as tx:
        assert await _partitions(tx) == before
        assert await _partition_of(tx, row) == "2027_06"


async def test_several_processes_can_maintain_concurrently(url: str, database: Database):
    await asyncio.gather(*(_maintain(url, JUNE) for _ in range(6)))
    async with database.reading() as tx:
        assert await _partitions(tx) == ["2027_06", "2027_07", "2027_08", "rest"]


async def test_partitions_are_maintained_while_entries_are_written(url: str, database: Database):
    async def write(count: int) -> None:
        for _ in range(count):
            async with database.transaction() as tx:
                await record(tx, "team_update", "success", AuditEntry(Actor("member", AccountId("client_x"))))

    await _maintain(url, wall_clock())
    await asyncio.gather(write(30), write(30), *(_maintain(url, wall_clock()) for _ in range(4)))
    async with database.reading() as tx:
        assert await tx.value("select count(*) from audit_events") == 60


async def test_partitions_older_than_400_days_are_dropped(url: str, database: Database):
    await _maintain(url, JUNE - 450 * DAY)
    async with database.transaction() as tx:
        assert await _partitions(tx) == ["2026_03", "2026_04", "2026_05", "rest"]
        gone = await _insert_entry(tx, JUNE - 440 * DAY)
        kept = await _insert_entry(tx, JUNE - 399 * DAY)
    await _maintain(url, JUNE)
    async with database.reading() as tx:
        assert await _partitions(tx) == ["2026_05", "2027_06", "2027_07", "2027_08", "rest"]
        assert await _partition_of(tx, gone) is None
        assert await _partition_of(tx, kept) == "2026_05"


async def test_the_default_partition_drops_entries_after_400_days(url: str, database: Database):
    async with database.transaction() as tx:
        gone = await _insert_entry(tx, JUNE - 401 * DAY)
        kept = await _insert_entry(tx, JUNE - 399 * DAY)
    await _maintain(url, JUNE)
    async with database.reading() as tx:
        assert await _partition_of(tx, gone) is None
        assert await _partition_of(tx, kept) == "rest"


async def test_entries_older_than_their_partition_stay_readable(url: str, database: Database):
    async with database.transaction() as tx:
        early = await _insert_entry(tx, JUNE + 30 * DAY)
    await _maintain(url, JUNE)
    async with database.transaction() as tx:
        assert await _partitions(tx) == ["2027_06", "2027_08", "rest"]
        assert await _partition_of(tx, early) == "rest"
        late = await _insert_entry(tx, JUNE + 31 * DAY)
        assert await _partition_of(tx, late) == "rest"
