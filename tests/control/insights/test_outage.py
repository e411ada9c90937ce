"""ClickHouse is down for an hour of simulated time."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from stead.control.app import ControlPlane
from stead.control.engines.clickhouse import ClickHouse
from stead.control.insights import chunk_store, ingestion, status
from stead.control.insights.ingestion import Ingestion
from stead.shared.clock import MovableClock
from tests.control.insights.conftest import NODE, Pipeline
from tests.control.insights.recorded import chunk_of, ledger_line
from tests.control.served_site import ServedSite

MINUTES, ROWS = 60, 5


@pytest.fixture
async def down(pipeline: Pipeline, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Ingestion]:
    """A worker that does not reach ClickHouse."""
    monkeypatch.setattr(ingestion, "LOOK_SECONDS", 0.001)
    unreachable = ClickHouse("http://nobody:x@127.0.0.1:1/stead")
    yield Ingestion(pipeline.plane.database, pipeline.objects, unreachable)
    unreachable.close()


async def waiting(plane: ControlPlane) -> int:
    async with plane.database.reading() as tx:
        [node] = [each for each in await status.list_nodes(tx) if each.node_id == NODE]
    assert (node.refused, node.lost_rows) == (0, 0)
    return node.waiting


async def test_after_an_hour_without_clickhouse_the_backlog_is_inserted_and_nothing_is_lost(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane, down: Ingestion, clock: MovableClock
) -> None:
    async with plane.database.transaction() as tx:
        await tx.run("delete from telemetry_gaps")
    for minute in range(1, MINUTES + 1):
        # Nodes get rid of everything meanwhile, so their own buffers stay empty.
        await pipeline.deliver(*chunk_of([ledger_line(site.env, bytes_out=minute) for _ in range(ROWS)]))
        for _ in range(3):
            await down.insert_next()
        clock.move(timedelta(minutes=1))
        # Its objects are needed until they are inserted.
        await ingestion.remove_old(plane.database, pipeline.objects)
        assert await waiting(plane) == minute
    assert (await site.get("/insights/requests"))["requests"] == []

    # A worker dies with the oldest chunk when ClickHouse is back: it waits as long as after a first attempt.
    async with plane.database.transaction() as tx:
        claimed = await chunk_store.claim(tx)
        assert claimed is not None
        claims = "select claimed_until - $2 from telemetry_chunks where id = $1"
        assert await tx.value(claims, claimed.id, tx.now) == chunk_store.CLAIM
        # The others take longer than that on a busy machine.
        longer = "update telemetry_chunks set claimed_until = claimed_until + interval '1 hour' where id = $1"
        await tx.run(longer, claimed.id)
    await pipeline.insert_all()
    assert await waiting(plane) == 1
    clock.move(timedelta(hours=1) + chunk_store.CLAIM)
    await pipeline.insert_and_check()
    assert await waiting(plane) == 0
    shown = await site.get("/insights/requests?limit=2000")
    assert len(shown["requests"]) == MINUTES * ROWS
    assert sum(row["bytes_out"] for row in shown["requests"]) == ROWS * sum(range(1, MINUTES + 1))
    assert shown["gaps"] == []
    volume = await site.get("/insights/requests/volume")
    assert (volume["requests"], volume["truncated"]) == (MINUTES * ROWS, False)
