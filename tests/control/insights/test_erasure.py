"""What was recorded about a site ends with the site."""

import pytest

from stead.control import provisioning
from stead.control.app import ControlPlane
from stead.control.engines.clickhouse import ClickHouse, Statement
from stead.control.insights.ingestion import Ingestion, erase_deleted
from stead.control.insights.tables import TABLES
from tests.conftest import NewPerson
from tests.control.insights.conftest import Pipeline
from tests.control.insights.recorded import (
    chunk_of,
    ledger_line,
    log_chunk_of,
    span_chunk_of,
    stamp,
    vitals_chunk_of,
)
from tests.control.served_site import ServedSite, create_served_site


async def _count(plane: ControlPlane, table: str, site: str) -> int:
    query = f"select count() from {table} where site_id = {{site:String}}"
    [[count]] = await plane.clickhouse.read(list[int], Statement(query, {"site": site}, {}))
    return int(count)


async def _fill(pipeline: Pipeline, site: ServedSite) -> None:
    await pipeline.record(ledger_line(site.env))
    await pipeline.deliver(*log_chunk_of(site.env, f"{stamp()} PHP Warning:  something"))
    await pipeline.deliver(*vitals_chunk_of(site.env, "LCP=400.0000"))
    await pipeline.deliver(*span_chunk_of(site.env, ledger_line(site.env)))
    await pipeline.insert_and_check()


async def test_the_rows_of_a_deleted_site_are_deleted_when_it_cannot_be_recovered(
    pipeline: Pipeline, plane: ControlPlane, new_person: NewPerson
) -> None:
    deleted, recoverable, other = [await create_served_site(plane, await new_person()) for _ in range(3)]
    for site in (deleted, recoverable, other):
        await _fill(pipeline, site)
    for site, until in ((deleted, "now() - interval '1 hour'"), (recoverable, "now() + interval '1 day'")):
        await site.driver.execute(
            f"update sites set status = 'deleted', recoverable_until = {until} where id = $1",
            site.id,
        )
    await erase_deleted(plane.database, plane.clickhouse)
    filled = [table for table in TABLES if not table.startswith("resource")]
    for table in filled:
        assert await _count(plane, table, deleted.id) == 0, table
        assert await _count(plane, table, recoverable.id) > 0, table
        assert await _count(plane, table, other.id) > 0, table

    # What arrives later is dropped.
    await pipeline.record(ledger_line(deleted.env))
    assert await _count(plane, "requests", deleted.id) == 0


async def test_what_was_decided_before_a_site_was_erased_is_not_inserted_afterwards(
    pipeline: Pipeline, plane: ControlPlane, site: ServedSite, new_person: NewPerson
) -> None:
    """ClickHouse was down when it was decided, and is back after the site can no longer be recovered."""
    other = await create_served_site(plane, await new_person())
    chunk, content = chunk_of([ledger_line(site.env), ledger_line(other.env)])
    await pipeline.deliver(chunk, content)
    down = ClickHouse("http://nobody:x@127.0.0.1:1/stead")
    assert await Ingestion(plane.database, pipeline.objects, down).insert_next()
    down.close()
    await site.driver.execute(
        "update sites set status = 'deleted', recoverable_until = now() - interval '1 hour' where id = $1",
        site.id,
    )
    await erase_deleted(plane.database, plane.clickhouse)
    async with plane.database.transaction() as tx:
        assert await tx.value("select decisions from telemetry_chunks where id = $1", chunk.id)
        await tx.run("update telemetry_chunks set claimed_until = null")
    await pipeline.insert_and_check()
    assert await _count(plane, "requests", site.id) == 0
    assert await _count(plane, "requests", other.id) == 1


async def test_an_operator_erases_a_site_on_request_and_it_goes_on(
    pipeline: Pipeline, plane: ControlPlane, new_person: NewPerson, monkeypatch: pytest.MonkeyPatch
) -> None:
    erased, other = [await create_served_site(plane, await new_person()) for _ in range(2)]
    for site in (erased, other):
        await _fill(pipeline, site)
    monkeypatch.setattr(provisioning, "from_environment", lambda: plane.settings)
    for _ in range(2):
        await provisioning.erase_insights(erased.id)
    for table in [table for table in TABLES if not table.startswith("resource")]:
        assert await _count(plane, table, erased.id) == 0, table
        assert await _count(plane, table, other.id) > 0, table
    for unknown in ("site_x", "' or 1=1 --"):
        with pytest.raises(provisioning.InsightsNotErased):
            await provisioning.erase_insights(unknown)
    await pipeline.record(ledger_line(erased.env))
    assert await _count(plane, "requests", erased.id) == 1
