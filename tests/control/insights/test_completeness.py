"""Gaps, the time up to which everything is there, and how long chunks and their records stay."""

import time
from datetime import datetime, timedelta

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.engines.clickhouse import Statement
from stead.control.engines.object_store import ObjectMissing
from stead.control.insights import chunk_store, ingestion, receiver
from stead.control.insights.rules import object_name
from stead.protocol.telemetry import ChunkReport, Gap
from stead.shared.clock import MovableClock
from stead.shared.ids import new_id
from tests.conftest import NewPerson
from tests.control.insights.conftest import NODE, Pipeline
from tests.control.insights.recorded import chunk_of, ledger_line
from tests.control.served_site import ServedSite, create_served_site


async def test_lost_rows_are_shown_as_a_gap_to_the_sites_of_the_node(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane, new_person: NewPerson
) -> None:
    elsewhere = await create_served_site(plane, await new_person(), "node-fine")
    now = time.time()
    gap = Gap("requests", now + 1, now + 20, 70)
    for _ in range(2):
        await pipeline.receiver.respond(ChunkReport("node-1", new_id("q"), now, None, gaps=(gap,)))
    # A gap in the future is not in the window; this one is.
    await pipeline.receiver.respond(
        ChunkReport("node-1", new_id("q"), now, None, gaps=(Gap("requests", now - 90, now, 71),))
    )
    async with plane.database.transaction() as tx:
        await tx.run(
            "update environment_placements set since = now() - interval '1 day' where env_id = $1", site.env
        )
    [shown] = (await site.get("/insights/requests"))["gaps"]
    assert datetime.fromisoformat(shown["start"]).timestamp() == pytest.approx(now - 90, abs=0.01)
    assert datetime.fromisoformat(shown["end"]).timestamp() == pytest.approx(now, abs=0.01)
    # How many rows a node has lost says how busy other tenants are.
    assert shown.keys() == {"start", "end"}
    assert (await elsewhere.get("/insights/requests"))["gaps"] == []


async def test_the_answer_says_up_to_when_it_is_complete(pipeline: Pipeline, site: ServedSite) -> None:
    async with pipeline.plane.database.transaction() as tx:
        await tx.run("delete from telemetry_progress")
    assert (await site.get("/insights/requests"))["as_of"] is None
    until = time.time() - 30
    await pipeline.report(None, until=until)
    first = (await site.get("/insights/requests"))["as_of"]
    chunk, content = chunk_of([ledger_line(site.env)])
    await pipeline.deliver(chunk, content)
    # A chunk waits, so nothing later is complete.
    await pipeline.report(None, until=time.time())
    assert (await site.get("/insights/requests"))["as_of"] == first
    await pipeline.insert_all()
    assert (await site.get("/insights/requests"))["as_of"] > first


async def test_objects_are_removed_when_they_are_inserted_and_records_a_month_later(
    pipeline: Pipeline, site: ServedSite, clock: MovableClock
) -> None:
    chunk, content = chunk_of([ledger_line(site.env)])
    answer = await pipeline.report(chunk)
    await pipeline.deliver(chunk, content)
    await pipeline.insert_all()
    # The node could still put it again.
    await ingestion.remove_old(pipeline.plane.database, pipeline.objects)
    assert await pipeline.objects.size(object_name(NODE, chunk.id)) == chunk.size
    clock.move(ingestion.OBJECT_KEPT + timedelta(seconds=1))
    await ingestion.remove_old(pipeline.plane.database, pipeline.objects)
    found = [name async for names in pipeline.objects.list_names("telemetry/") for name in names]
    assert not [name for name in found if chunk.id in name]
    assert (await pipeline.report(chunk)).recorded
    clock.move(timedelta(days=31))
    await ingestion.remove_old(pipeline.plane.database, pipeline.objects)
    async with pipeline.plane.database.reading() as tx:
        assert not await tx.value("select count(*) from telemetry_chunks where id = $1", chunk.id)
    # The address has expired by then, for whoever has kept it.
    async with httpx.AsyncClient(timeout=60.0) as client:
        assert answer.url
        assert (await client.get(answer.url)).status_code >= 400


async def test_an_offer_that_was_never_used_is_forgotten_and_the_chunk_may_come_later(
    pipeline: Pipeline, site: ServedSite, clock: MovableClock
) -> None:
    """A node was offline for two days after it had put a chunk, and before it could say so."""
    chunk, content = chunk_of([ledger_line(site.env)])
    await pipeline.report(chunk)
    await pipeline.objects.put(object_name(NODE, chunk.id), content)
    async with pipeline.plane.database.transaction() as tx:
        await chunk_store.withdraw_offers(tx, tx.now + timedelta(seconds=1), 10)
    # Its object is about to be removed, so the node must wait.
    for stored in (False, True):
        answer = await pipeline.report(chunk, stored=stored)
        assert (answer.url, answer.recorded, answer.refused) == ("", False, False)
    clock.move(timedelta(days=2))
    await ingestion.remove_old(pipeline.plane.database, pipeline.objects)
    with pytest.raises(ObjectMissing):
        await pipeline.objects.size(object_name(NODE, chunk.id))
    await pipeline.deliver(chunk, content)
    await pipeline.insert_and_check()
    rows = Statement("select count() from requests where site_id = {site:String}", {"site": site.id}, {})
    assert await pipeline.plane.clickhouse.read(list[int], rows) == [[1]]


async def test_a_node_can_put_only_what_it_has_announced(pipeline: Pipeline, site: ServedSite) -> None:
    chunk, content = chunk_of([ledger_line(site.env)])
    answer = await pipeline.report(chunk)
    async with httpx.AsyncClient(timeout=60.0) as client:
        assert (await client.put(answer.url, content=content + b"!")).status_code == 403
        assert (await client.put(answer.url, content=content)).status_code == 200


async def test_a_node_with_too_many_waiting_chunks_gets_no_address(
    pipeline: Pipeline, site: ServedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(receiver, "MAX_WAITING", 1)
    await pipeline.deliver(*chunk_of([ledger_line(site.env)]))
    chunk, content = chunk_of([ledger_line(site.env)])
    answer = await pipeline.report(chunk)
    assert (answer.url, answer.recorded, answer.refused) == ("", False, False)
    await pipeline.insert_all()
    await pipeline.deliver(chunk, content)


async def test_gaps_of_a_node_are_bounded_and_removed_when_they_are_old(
    pipeline: Pipeline, plane: ControlPlane, clock: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chunk_store, "MAX_GAPS_OF_NODE", 3)
    async with plane.database.transaction() as tx:
        await tx.run("delete from telemetry_gaps")
    now = time.time()
    moments = [now - 50, now - 40, now - 30, now - 20, now - 10, 9_999_999_999.0]
    gaps = tuple(Gap("requests", moment - 5, moment, 10) for moment in moments)
    for _ in range(2):
        await pipeline.receiver.respond(ChunkReport(NODE, new_id("q"), now, None, gaps=gaps))
    async with plane.database.reading() as tx:
        found = await tx.all(
            lambda first, last, rows: (round(first.timestamp() - now), round(last.timestamp() - now), rows),
            "select first_at, last_at, rows from telemetry_gaps order by first_at",
        )
    latest = round(chunk_store.LATEST_GAP.total_seconds())
    assert [first for first, _, _ in found] == [-55, -45, -35]
    assert latest <= found[-1][1] < latest + 60
    clock.move(timedelta(days=31))
    await ingestion.remove_old(plane.database, pipeline.objects)
    async with plane.database.reading() as tx:
        assert await tx.value("select count(*) from telemetry_gaps") == 0


async def test_a_node_whose_clock_is_wrong_has_a_gap(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane
) -> None:
    async with plane.database.transaction() as tx:
        await tx.run("delete from telemetry_gaps")
    chunk, content = chunk_of([ledger_line(site.env, ts=round(time.time() + 3600, 3))])
    await pipeline.deliver(chunk, content)
    await pipeline.insert_and_check()
    assert (await pipeline.report(chunk)).refused
    async with plane.database.reading() as tx:
        assert await tx.value("select sum(rows) from telemetry_gaps where node_id = $1", NODE) == 1


async def test_a_chunk_that_waits_holds_back_the_time_up_to_which_all_is_complete(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane
) -> None:
    async with plane.database.transaction() as tx:
        await tx.run("delete from telemetry_progress")
    waits = round(time.time() - 600, 3)
    await pipeline.deliver(*chunk_of([ledger_line(site.env, ts=waits)]))
    async with plane.database.transaction() as tx:
        assert await chunk_store.claim(tx) is not None
    await pipeline.deliver(*chunk_of([ledger_line(site.env)]))
    await pipeline.insert_all()
    shown = await site.get("/insights/requests")
    assert len(shown["requests"]) == 1
    assert datetime.fromisoformat(shown["as_of"]).timestamp() <= waits
