"""Chunks of nodes reach ClickHouse exactly once, and contain only what a node may report."""

import time
from datetime import timedelta

import httpx
import pytest
import zstandard

from stead.control.app import ControlPlane
from stead.control.engines import clickhouse
from stead.control.engines.clickhouse import ClickHouse
from stead.control.insights import chunk_store, ingestion
from stead.control.insights.chunk_store import ClaimedChunk
from stead.control.insights.ingestion import Ingestion
from stead.control.insights.receiver import ChunkReceiver
from stead.protocol.telemetry import ChunkReport, Gap
from stead.shared.clock import MovableClock
from stead.shared.ids import new_id
from tests.conftest import NewPerson
from tests.control.insights.conftest import Pipeline
from tests.control.insights.recorded import chunk_of, chunk_with, ledger_line, rows_of
from tests.control.served_site import ServedSite, create_served_site
from tests.enrolled_nodes import record_node


async def count(site: ServedSite) -> int:
    """How many requests of the site are there, in the rows and in the sums of minutes and of hours."""
    listed = await site.get("/insights/requests?limit=2000")
    for hours in (24, 720):
        volume = await site.get(f"/insights/requests/volume?hours={hours}")
        assert volume["requests"] == len(listed["requests"])
    return len(listed["requests"])


async def test_what_a_node_records_is_shown(pipeline: Pipeline, site: ServedSite) -> None:
    await pipeline.record(ledger_line(site.env), ledger_line(site.env, status=503))
    assert await count(site) == 2


async def test_a_chunk_that_is_reported_again_and_inserted_again_counts_once(
    pipeline: Pipeline, site: ServedSite
) -> None:
    chunk, content = chunk_of([ledger_line(site.env) for _ in range(7)])
    await pipeline.deliver(chunk, content)
    await pipeline.insert_all()
    assert (await pipeline.report(chunk)).recorded
    async with pipeline.plane.database.transaction() as tx:
        # As if the worker had died before it recorded the insert.
        await tx.run(
            "update telemetry_chunks set status = 'stored', claimed_until = null where id = $1", chunk.id
        )
    await pipeline.insert_all()
    assert await count(site) == 7


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
                await chunk_store.insert(tx, "node-1", chunk)
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
    assert await count(site) == 2


async def test_a_change_between_two_attempts_changes_nothing(
    pipeline: Pipeline, site: ServedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The plan and the node of an environment change after the rows were inserted, and before that is
    recorded."""
    chunk, content = chunk_of([ledger_line(site.env) for _ in range(5)])
    await pipeline.deliver(chunk, content)

    async def die(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as dying:
        dying.setattr(Ingestion, "_end", die)
        with pytest.raises(KeyboardInterrupt):
            await pipeline.ingestion.insert_next()
    async with pipeline.plane.database.transaction() as tx:
        await tx.run("update accounts set plan = 'free' where id = $1", site.person.id)
        await tx.run("update environments set node_id = null where id = $1", site.env)
        await tx.run("update telemetry_chunks set claimed_until = null where id = $1", chunk.id)
    await pipeline.insert_all()
    assert await count(site) == 5


async def test_a_node_that_names_the_environment_of_another_node_is_not_believed(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane, new_person: NewPerson
) -> None:
    other = await create_served_site(plane, await new_person())
    async with plane.database.transaction() as tx:
        await record_node(tx, "node-liar", region="us-east")
        await tx.run("update environments set node_id = 'node-liar' where id = $1", other.env)
    lines = [ledger_line(site.env, site=site.id), ledger_line(other.env), ledger_line(new_id("env"))]
    await pipeline.record(*lines, node="node-liar")
    assert (await count(site), await count(other)) == (0, 1)


async def test_rows_from_before_a_move_count_and_later_ones_do_not(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane
) -> None:
    async with plane.database.transaction() as tx:
        await record_node(tx, "node-next", region="us-east")
        await tx.run("update environments set node_id = 'node-next' where id = $1", site.env)
        await tx.run(
            "update environment_placements set since = now() - interval '2 hours', until = now() - interval"
            " '1 hour' where env_id = $1 and node_id = 'node-1'",
            site.env,
        )
    now = time.time()
    await pipeline.record(ledger_line(site.env, ts=now - 5400), ledger_line(site.env, ts=now - 60))
    assert await count(site) == 1


async def test_rows_of_the_future_and_of_long_ago_are_dropped(pipeline: Pipeline, site: ServedSite) -> None:
    now = time.time()
    times = [now - 60, now + 3600, now - 400 * 86400, 5.0, 9_999_999_998.0]
    await pipeline.record(*(ledger_line(site.env, ts=round(moment, 3)) for moment in times))
    assert await count(site) == 1


@pytest.mark.parametrize(
    "part",
    [
        *("rows", "head", "no head", "no rows", "columns"),
        *("digest", "compression", "cut", "bomb", "two bombs"),
    ],
)
async def test_a_chunk_that_is_not_valid_is_refused_and_others_go_on(
    pipeline: Pipeline, site: ServedSite, part: str
) -> None:
    rows = rows_of([ledger_line(site.env)])
    valid = rows.compress()
    head, _, compressed = valid.partition(b"\n")
    plain = zstandard.decompress(compressed)
    content = {
        "rows": head + b"\n" + zstandard.compress(plain + b"x\n"),
        "head": b'{"stream": "requests"}\n' + compressed,
        "no head": compressed.replace(b"\n", b""),
        "no rows": head + b"\n",
        "columns": head + b"\n" + zstandard.compress(plain.replace(b"\t200\t", b"\ttwo\t")),
        "digest": valid,
        "compression": head + b"\n" + plain,
        "cut": valid[:-9],
        "bomb": head + b"\n" + zstandard.compress(bytes(70 << 20)),
        "two bombs": head + b"\n" + zstandard.compress(bytes(40 << 20)) * 2,
    }[part]
    chunk = chunk_with(content + b"!" if part == "digest" else content, rows)
    await pipeline.deliver(chunk, content)
    await pipeline.record(ledger_line(site.env))
    assert await count(site) == 1
    answer = await pipeline.report(chunk)
    assert (answer.recorded, answer.refused) == (True, True)


async def test_a_chunk_cannot_bring_a_row_of_another_site(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane, new_person: NewPerson
) -> None:
    """Whatever a node writes into its values, each row gets the site of its environment in front."""
    victim = await create_served_site(plane, await new_person())
    path = f"/\n{victim.id}\t{victim.env}\t30\t{time.time():.3f}\t\\\t\r\n\\N"
    await pipeline.record(ledger_line(site.env, path=path), ledger_line(site.env, host=f"a\t{victim.id}"))
    assert (await count(site), await count(victim)) == (2, 0)
    shown = {row["path"] for row in (await site.get("/insights/requests"))["requests"]}
    assert shown == {path, "/"}


async def test_while_clickhouse_is_down_chunks_wait_and_nothing_is_lost(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, "LOOK_SECONDS", 0.01)
    down = ClickHouse("http://nobody:x@127.0.0.1:1/stead")
    await pipeline.deliver(*chunk_of([ledger_line(site.env)]))
    assert await Ingestion(plane.database, pipeline.objects, down).insert_next()
    down.close()
    assert await count(site) == 0
    async with plane.database.transaction() as tx:
        await tx.run("update telemetry_chunks set claimed_until = null")
    await pipeline.insert_all()
    assert await count(site) == 1


async def test_a_node_that_is_not_enrolled_gets_no_answer(pipeline: Pipeline, site: ServedSite) -> None:
    chunk, _ = chunk_of([ledger_line(site.env)])
    assert await pipeline.receiver.respond(ChunkReport("node-x", "q", 0.0, chunk)) is None


async def test_an_installation_without_clickhouse_refuses_chunks(
    pipeline: Pipeline, site: ServedSite
) -> None:
    receiver = ChunkReceiver(pipeline.receiver._nats, pipeline.plane.database, pipeline.objects, wanted=False)
    answer = await receiver.respond(ChunkReport("node-1", "q", 0.0, chunk_of([ledger_line(site.env)])[0]))
    assert answer is not None
    assert (answer.recorded, answer.refused, answer.url) == (True, True, "")


async def test_a_chunk_whose_content_has_changed_is_refused(pipeline: Pipeline, site: ServedSite) -> None:
    chunk, content = chunk_of([ledger_line(site.env)])
    await pipeline.deliver(chunk, content)
    other, _ = chunk_of([ledger_line(site.env, path="/other")], chunk.id)
    assert (await pipeline.report(other)).refused
    await pipeline.insert_all()
    assert await count(site) == 1


async def test_lost_rows_are_shown_as_a_gap_to_the_sites_of_the_node(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane, new_person: NewPerson
) -> None:
    elsewhere = await create_served_site(plane, await new_person())
    async with plane.database.transaction() as tx:
        await record_node(tx, "node-fine", region="us-east")
        await tx.run("update environments set node_id = 'node-fine' where id = $1", elsewhere.env)
        await tx.run(
            "delete from environment_placements where env_id = $1 and node_id = 'node-1'", elsewhere.env
        )
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
    assert [each["rows"] for each in (await site.get("/insights/requests"))["gaps"]] == [71]
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
    await ingestion.remove_old(pipeline.plane.database, pipeline.objects)
    found = [name async for names in pipeline.objects.list_names("telemetry/") for name in names]
    assert not [name for name in found if chunk.id in name]
    assert (await pipeline.report(chunk)).recorded
    clock.move(timedelta(days=31))
    await ingestion.remove_old(pipeline.plane.database, pipeline.objects)
    async with pipeline.plane.database.reading() as tx:
        assert not await tx.value("select count(*) from telemetry_chunks where id = $1", chunk.id)
    # The address has expired by then, for whoever has kept it.
    async with httpx.AsyncClient() as client:
        assert answer.url
        assert (await client.get(answer.url)).status_code >= 400
