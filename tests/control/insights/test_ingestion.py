"""Chunks of nodes reach ClickHouse exactly once, and contain only what a node may report."""

import time
from datetime import datetime, timedelta
from typing import NamedTuple

import httpx
import pytest
import zstandard

from stead.control.app import ControlPlane
from stead.control.engines import clickhouse
from stead.control.engines.clickhouse import ClickHouse, Statement
from stead.control.engines.object_store import ObjectMissing
from stead.control.engines.postgres import Tx
from stead.control.insights import chunk_store, ingestion, receiver
from stead.control.insights.chunk_store import ClaimedChunk
from stead.control.insights.ingestion import Ingestion
from stead.control.insights.receiver import ChunkReceiver
from stead.control.insights.rules import object_name
from stead.protocol.telemetry import COLUMNS, MAX_CHUNK_BYTES, ChunkReport, Gap
from stead.shared.clock import MovableClock
from stead.shared.ids import new_id
from tests.conftest import NewPerson
from tests.control.insights.conftest import NODE, Pipeline
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
    assert await count(site) == 2


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


async def test_an_object_that_is_larger_than_announced_is_refused_and_others_go_on(
    pipeline: Pipeline, site: ServedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, "LOOK_SECONDS", 0.01)
    chunk, content = chunk_of([ledger_line(site.env)])
    await pipeline.deliver(chunk, content)
    await pipeline.objects.put(object_name(NODE, chunk.id), bytes(MAX_CHUNK_BYTES + 1))
    await pipeline.record(ledger_line(site.env))
    assert await count(site) == 1
    assert (await pipeline.report(chunk)).refused


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
        *("digest", "compression", "cut", "bomb", "two bombs", "escape", "end"),
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
        "escape": head + b"\n" + zstandard.compress(plain + b"\\"),
        "end": head + b"\n" + zstandard.compress(plain[:-9]),
        "compression": head + b"\n" + plain,
        "cut": valid[:-9],
        "bomb": head + b"\n" + zstandard.compress(bytes(70 << 20)),
        "two bombs": head + b"\n" + zstandard.compress(bytes(40 << 20)) * 2,
    }[part]
    chunk = chunk_with(content[:-1] + b"!" if part == "digest" else content, rows)
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
    async with httpx.AsyncClient() as client:
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
    async with httpx.AsyncClient() as client:
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
    began = time.time()
    await pipeline.deliver(*chunk_of([ledger_line(site.env, ts=round(began - 600, 3))]))
    async with plane.database.transaction() as tx:
        assert await chunk_store.claim(tx) is not None
    await pipeline.deliver(*chunk_of([ledger_line(site.env)]))
    await pipeline.insert_all()
    shown = await site.get("/insights/requests")
    assert len(shown["requests"]) == 1
    assert datetime.fromisoformat(shown["as_of"]).timestamp() <= began - 600


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
