"""Chunks of nodes reach ClickHouse exactly once, and contain only what a node may report."""

import time

import pytest
import zstandard

from stead.control.app import ControlPlane
from stead.control.engines.clickhouse import ClickHouse
from stead.control.insights import ingestion
from stead.control.insights.ingestion import Ingestion
from stead.control.insights.receiver import ChunkReceiver
from stead.control.insights.rules import object_name
from stead.protocol.telemetry import MAX_CHUNK_BYTES, ChunkReport
from stead.shared.ids import new_id
from tests.conftest import NewPerson
from tests.control.insights.conftest import NODE, Pipeline
from tests.control.insights.recorded import chunk_of, chunk_with, count_requests, ledger_line, rows_of
from tests.control.served_site import ServedSite, create_served_site
from tests.enrolled_nodes import record_node


async def test_what_a_node_records_is_shown(pipeline: Pipeline, site: ServedSite) -> None:
    await pipeline.record(ledger_line(site.env), ledger_line(site.env, status=503))
    assert await count_requests(site) == 2


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
    assert await count_requests(site) == 7


async def test_an_object_that_is_larger_than_announced_is_refused_and_others_go_on(
    pipeline: Pipeline, site: ServedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingestion, "LOOK_SECONDS", 0.01)
    chunk, content = chunk_of([ledger_line(site.env)])
    await pipeline.deliver(chunk, content)
    await pipeline.objects.put(object_name(NODE, chunk.id), bytes(MAX_CHUNK_BYTES + 1))
    await pipeline.record(ledger_line(site.env))
    assert await count_requests(site) == 1
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
    assert await count_requests(site) == 5


async def test_a_node_that_names_the_environment_of_another_node_is_not_believed(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane, new_person: NewPerson
) -> None:
    other = await create_served_site(plane, await new_person(), "node-liar")
    lines = [ledger_line(site.env, site=site.id), ledger_line(other.env), ledger_line(new_id("env"))]
    await pipeline.record(*lines, node="node-liar")
    assert (await count_requests(site), await count_requests(other)) == (0, 1)


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
    assert await count_requests(site) == 1


async def test_rows_of_the_future_and_of_long_ago_are_dropped(pipeline: Pipeline, site: ServedSite) -> None:
    now = time.time()
    times = [now - 60, now + 3600, now - 400 * 86400, 5.0, 9_999_999_998.0]
    await pipeline.record(*(ledger_line(site.env, ts=round(moment, 3)) for moment in times))
    assert await count_requests(site) == 1


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
    assert await count_requests(site) == 1
    answer = await pipeline.report(chunk)
    assert (answer.recorded, answer.refused) == (True, True)


async def test_a_chunk_cannot_bring_a_row_of_another_site(
    pipeline: Pipeline, site: ServedSite, plane: ControlPlane, new_person: NewPerson
) -> None:
    """Whatever a node writes into its values, each row gets the site of its environment in front."""
    victim = await create_served_site(plane, await new_person())
    path = f"/\n{victim.id}\t{victim.env}\t30\t{time.time():.3f}\t\\\t\r\n\\N"
    await pipeline.record(ledger_line(site.env, path=path), ledger_line(site.env, host=f"a\t{victim.id}"))
    assert (await count_requests(site), await count_requests(victim)) == (2, 0)
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
    assert await count_requests(site) == 0
    async with plane.database.transaction() as tx:
        await tx.run("update telemetry_chunks set claimed_until = null")
    await pipeline.insert_all()
    assert await count_requests(site) == 1


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
    assert await count_requests(site) == 1
