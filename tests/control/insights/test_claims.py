"""Which chunk a worker takes next, and what happens to one that fails."""

from datetime import timedelta
from typing import NamedTuple

import pytest

from stead.control.app import ControlPlane
from stead.control.engines import clickhouse
from stead.control.engines.postgres import Tx
from stead.control.insights import chunk_store, ingestion
from stead.control.insights.chunk_store import ClaimedChunk
from stead.protocol.telemetry import COLUMNS
from stead.shared.clock import MovableClock
from stead.shared.ids import new_id
from tests.control.insights.conftest import Pipeline
from tests.control.insights.recorded import chunk_of, count_requests, ledger_line
from tests.control.served_site import ServedSite


async def test_a_claim_takes_one_chunk_whatever_the_planner_expects(
    plane: ControlPlane,
) -> None:
    """A table that was empty when it was analyzed: the planner expects one row, and would look for the next
    chunk again for each row that there is."""
    chunks = [chunk_of([ledger_line(new_id("env"))])[0] for _ in range(4)]
    async with plane.database.transaction() as tx:
        for _ in range(2):
            await tx.run("delete from telemetry_chunks")
            await tx.run("analyze telemetry_chunks")
            for number, chunk in enumerate(chunks):
                await chunk_store.insert(tx, f"node-{number}", chunk)
                await tx.run(
                    "update telemetry_chunks set status = 'stored', stored_at = $2 where id = $1",
                    *(chunk.id, tx.now + timedelta(milliseconds=number)),
                )
        for number, chunk in enumerate(chunks, 1):
            claimed = await chunk_store.claim(tx)
            assert claimed is not None
            assert claimed.id == chunk.id
            assert await tx.value("select count(claimed_until) from telemetry_chunks") == number
        assert await chunk_store.claim(tx) is None
        await tx.run("delete from telemetry_chunks")


async def test_a_node_with_many_chunks_leaves_places_to_others(
    plane: ControlPlane, clock: MovableClock
) -> None:
    chunks = [chunk_of([ledger_line(new_id("env"))])[0] for _ in range(6)]
    nodes = ["node-many"] * 5 + ["node-one"]
    async with plane.database.transaction() as tx:
        await tx.run("delete from telemetry_chunks")
        for number, (node, chunk) in enumerate(zip(nodes, chunks, strict=True)):
            await chunk_store.insert(tx, node, chunk)
            await tx.run(
                "update telemetry_chunks set status = 'stored', stored_at = $2 where id = $1",
                *(chunk.id, tx.now + timedelta(milliseconds=number)),
            )
        claimed = [await chunk_store.claim(tx) for _ in range(4)]
        assert [each and each.id for each in claimed] == [chunks[0].id, chunks[1].id, chunks[5].id, None]
        assert claimed[0] is not None
        await chunk_store.keep_claimed(tx, claimed[0])
        # It has failed, so the next one of the node is tried, and others before this one.
        assert [each and each.id for each in [await chunk_store.claim(tx)]] == [chunks[2].id]
    clock.move(timedelta(hours=1))
    async with plane.database.transaction() as tx:
        assert [each and each.id for each in [await chunk_store.claim(tx)]] == [chunks[3].id]
        await tx.run("delete from telemetry_chunks")


async def test_only_an_attempt_without_an_end_makes_the_next_pause_longer(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane, clock: MovableClock
) -> None:
    """Otherwise chunks of a long outage would wait for minutes when a worker dies after it."""
    await pipeline.deliver(*chunk_of([ledger_line(site.env)]))

    async def claim() -> ClaimedChunk:
        async with plane.database.transaction() as tx:
            claimed = await chunk_store.claim(tx)
        assert claimed is not None
        return claimed

    for _ in range(20):
        chunk = await claim()
        async with plane.database.transaction() as tx:
            await chunk_store.release(tx, chunk, timedelta(seconds=5))
        clock.move(timedelta(seconds=6))
    await claim()
    clock.move(chunk_store.CLAIM)
    await claim()
    clock.move(chunk_store.CLAIM)
    async with plane.database.transaction() as tx:
        assert await chunk_store.claim(tx) is None
    clock.move(timedelta(seconds=1))
    await claim()


async def test_a_chunk_that_needs_too_much_memory_is_repeated_rarely_and_others_go_on(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    await pipeline.deliver(*chunk_of([ledger_line(site.env)]))
    with monkeypatch.context() as limited:
        settings = {**clickhouse._ONE_BLOCK, "max_memory_usage": 10_000, "max_untracked_memory": 1}
        limited.setattr(clickhouse, "_ONE_BLOCK", settings)
        assert await pipeline.ingestion.insert_next()
    async with plane.database.reading() as tx:
        chunks = "select status, attempts, claimed_until > $1 from telemetry_chunks"
        assert await tx.all(lambda *row: row, chunks, tx.now) == [("stored", 1, True)]
    await pipeline.deliver(*chunk_of([ledger_line(site.env) for _ in range(2)]))
    await pipeline.insert_all()
    assert await count_requests(site) == 2


async def test_a_chunk_that_always_fails_is_refused_in_the_end_and_shown_as_a_gap(
    pipeline: Pipeline,
    site: ServedSite,
    plane: ControlPlane,
    clock: MovableClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chunk, content = chunk_of([ledger_line(site.env)])
    async with plane.database.transaction() as tx:
        await tx.run("delete from telemetry_gaps")
        await tx.run(
            "update environment_placements set since = now() - interval '1 day' where env_id = $1", site.env
        )
    await pipeline.deliver(chunk, content)
    with monkeypatch.context() as limited:
        settings = {**clickhouse._ONE_BLOCK, "max_memory_usage": 10_000, "max_untracked_memory": 1}
        limited.setattr(clickhouse, "_ONE_BLOCK", settings)
        for _ in range(ingestion.MAX_ATTEMPTS):
            assert await pipeline.ingestion.insert_next()
            assert not (await pipeline.report(chunk)).refused
            clock.move(chunk_store.CLAIM + chunk_store.PATIENCE)
    assert await pipeline.ingestion.insert_next()
    assert (await pipeline.report(chunk)).refused
    assert not await pipeline.ingestion.insert_next()
    shown = await site.get("/insights/requests")
    assert (shown["requests"], len(shown["gaps"])) == ([], 1)


async def test_what_is_remembered_about_chunks_does_not_make_new_ones_slower(plane: ControlPlane) -> None:
    """Of every statement that is executed again and again: how many rows PostgreSQL looks at."""
    node, remembered = "node-busy", 20_000
    async with plane.database.transaction() as tx:
        await tx.run("delete from telemetry_chunks")
        await tx.run(
            "insert into telemetry_chunks (node_id, id, stream, status, size, sha256, rows, has_object,"
            " first_at, last_at, until, offered_at, stored_at, ended_at) select $1,"
            " 'chunk_' || n, 'requests', 'done', 1, '', 1, false, $2, $2, $2, $2, $2, $2"
            " from generate_series(1, $3::int) n",
            *(node, tx.now, remembered),
        )
        await chunk_store.insert(tx, node, chunk_of([ledger_line(new_id("env"))])[0])
        await tx.run("analyze telemetry_chunks")
    async with plane.database.transaction() as tx:
        long_ago = tx.now - timedelta(days=9)
        before = await _count_reads(tx)
        assert await chunk_store.count_waiting(tx, node) == 1
        await chunk_store.set_progress_if_idle(tx, node, list(COLUMNS), tx.now)
        assert await chunk_store.claim(tx) is None
        await chunk_store.withdraw_offers(tx, long_ago, 500)
        assert await chunk_store.list_with_useless_objects(tx, tx.now, 500) == []
        await chunk_store.delete_old(tx, long_ago, long_ago, 500)
        after = await _count_reads(tx)
        await tx.run("delete from telemetry_chunks")
        await tx.run("delete from telemetry_progress where node_id = $1", node)
    assert after.scans == before.scans
    assert after.rows - before.rows < 50


class _Reads(NamedTuple):
    scans: int
    rows: int


async def _count_reads(tx: Tx) -> _Reads:
    """Of the chunks, by this connection: PostgreSQL may count some of its earlier transactions as well."""
    [found] = await tx.all(
        _Reads,
        "select seq_scan, idx_tup_fetch from pg_stat_xact_user_tables where relname = 'telemetry_chunks'",
    )
    return found
