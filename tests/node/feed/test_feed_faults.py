"""Faults of the feed: an offline node, a restarted or restored NATS, a lost store, a killed agent."""

import asyncio
import shutil
import sqlite3
from functools import partial
from pathlib import Path

import pytest

from stead.control.edge_feed.feed import FeedUnavailable, NotApplied
from stead.control.engines.nats_streams import consumer_config, stream_config
from stead.dev.engines.nats import Nats
from stead.dev.running_stack import RunningStack
from stead.protocol.edge_records import BUCKET, EdgeRecord, HostRecord
from stead.protocol.streams import edge_consumer, stream_specs
from stead.protocol.subjects import bucket_stream
from stead.protocol.work.hosting import EnsureEnvironment
from tests.node.feed.feed_harness import FeedHarness
from tests.node.harness import until

STREAM = bucket_stream(BUCKET)


async def test_a_node_that_was_offline_reads_only_the_changes(
    there: FeedHarness,
) -> None:
    async with there.feeding():
        await there.applied(await there.put(there.hosts(2_000)))
    before = len(there.stored())
    revision = await there.put(
        {**there.hosts(3, environment="env_2"), there.host(5): None, there.host(2_000): HostRecord("env_1")}
    )
    async with there.feeding():
        await there.applied(revision)
        delivered = await there.stage.operator.jetstream().consumer_info(STREAM, there.node)
        # The record at the position again, and the five changes.
        assert delivered.delivered.consumer_seq <= 6
    assert there.missing_hosts(2_001) == [5]
    assert len(there.stored()) == before
    assert there.nginx.known["host h1.example.com"] == {"environment": "env_2"}


async def test_a_deleted_store_is_filled_again(there: FeedHarness) -> None:
    async with there.feeding():
        await there.applied(await there.put(there.hosts(1_500)))
    for path in there.stage.data.glob("edge.sqlite*"):
        path.unlink()
    revision = await there.put({there.host(3): HostRecord("env_2")})
    async with there.feeding():
        await there.applied(revision)
    assert len(there.stored()) == 1_500
    assert there.missing_hosts(1_500) == []


async def test_a_damaged_store_is_filled_again(there: FeedHarness) -> None:
    async with there.feeding():
        await there.applied(await there.put(there.hosts(200)))
    (there.stage.data / "edge.sqlite").write_bytes(b"this is no database" * 500)
    revision = await there.put({there.host(3): HostRecord("env_2")})
    async with there.feeding():
        await there.applied(revision)
    assert len(there.stored()) == 200


async def test_a_restart_of_nats_loses_no_change(apart: tuple[RunningStack, FeedHarness]) -> None:
    stack, it = apart
    async with it.feeding():
        await it.applied(await it.put(it.hosts(100)))
        for turn in range(3):
            await stack.kill(Nats)
            await stack.start(Nats)
            changed = it.hosts(100, environment=f"env_{turn}")
            revision = await until(partial(put_at_last, it, changed))
            await it.applied(revision, within=30)
            assert it.nginx.known["host h99.example.com"] == {"environment": f"env_{turn}"}
        assert it.nginx.posts


async def test_after_a_loss_of_all_data_in_nats_the_new_history_is_followed(
    apart: tuple[RunningStack, FeedHarness],
) -> None:
    """The control plane writes the existing records again; all others are deleted."""
    _, it = apart
    operator = it.stage.operator.jetstream()
    async with it.feeding():
        lost = await it.put(it.hosts(10))
        await it.applied(lost)
        await operator.delete_stream(STREAM)
        (bucket,) = (each for each in stream_specs() if each.name == STREAM)
        await operator.add_stream(stream_config(bucket))
        wanted = edge_consumer(it.stage.node, it.region)
        await operator.add_consumer(STREAM, consumer_config(wanted))
        revision = await it.put(it.hosts(4, environment="env_2"))
        assert revision > lost
        await it.applied(revision)
        await it.nginx.until(lambda: len(it.nginx.known) == 4)
        assert it.missing_hosts(4) == []
        assert len(it.stored()) == 4


async def test_after_a_restore_of_nats_the_older_history_is_followed(
    apart: tuple[RunningStack, FeedHarness], tmp_path: Path
) -> None:
    """It assigns the same revisions again, to other records."""
    stack, it = apart
    store = stack[Nats].instance.home / "store"
    first = await it.put(it.hosts(1))
    await stack.stop(Nats)
    await asyncio.to_thread(shutil.copytree, store, tmp_path / "copy")
    await stack.start(Nats)
    async with it.feeding():
        await it.applied(await until(lambda: put_at_last(it, it.hosts(2, start=1))))
        assert it.missing_hosts(3) == []
    await stack.stop(Nats)
    await asyncio.to_thread(shutil.rmtree, store)
    await asyncio.to_thread(shutil.copytree, tmp_path / "copy", store)
    await stack.start(Nats)
    revision = await until(lambda: put_at_last(it, it.hosts(2, start=10)))
    assert revision == first + 2
    async with it.feeding():
        await it.nginx.until(lambda: it.nginx.has("host", "h10.example.com") and len(it.nginx.known) == 3)
        assert [each for each in range(12) if each not in it.missing_hosts(12)] == [0, 10, 11]
        assert len(it.stored()) == 3


async def put_at_last(it: FeedHarness, records: dict[str, EdgeRecord | None]) -> int | None:
    """Write the records as soon as NATS accepts them."""
    try:
        return await it.put(records)
    except FeedUnavailable:
        return None


async def test_an_agent_killed_during_a_snapshot_continues_where_it_was(there: FeedHarness) -> None:
    count = 10_000
    revision = await there.put(there.hosts(count))
    positions = [0]
    for _ in range(3):
        there.stage.start()
        await until(lambda: _beyond(there, positions[-1]), pause=0.005)
        await there.stage.kill()
        stored = there.stored()
        positions.append(there.position())
        # The position and the records before it commit together.
        assert positions[-1] == revision - count + len(stored)
        assert all(there.host(number) in stored for number in range(len(stored)))
    assert positions[1] < revision
    assert positions == sorted(positions)
    there.stage.start()
    await there.applied(revision, within=30)
    assert len(there.stored()) == count
    assert there.missing_hosts(count) == []


async def _beyond(there: FeedHarness, position: int) -> bool | None:
    try:
        return there.position() > position or None
    except sqlite3.Error:
        return None


async def test_an_agent_without_an_edge_executes_commands(there: FeedHarness) -> None:
    await there.nginx.stop()
    there.stage.start()
    order = there.stage.command(EnsureEnvironment("static"))
    assert (await there.stage.ask(order)).outcome == "done"


async def test_an_agent_without_a_record_store_executes_commands(there: FeedHarness) -> None:
    (there.stage.data / "edge.sqlite").mkdir()
    there.stage.start()
    order = there.stage.command(EnsureEnvironment("static"))
    assert (await there.stage.ask(order)).outcome == "done"
    assert "feed.failed" in there.stage.log


async def test_a_node_that_is_cut_off_is_named_in_the_error(there: FeedHarness) -> None:
    async with there.feeding():
        await there.applied(await there.put(there.hosts(1)))
    revision = await there.put(there.hosts(1, environment="env_2"))
    with pytest.raises(NotApplied, match=there.node) as raised:
        await there.applied(revision, within=1)
    assert raised.value.nodes == (there.node,)
    waiting = asyncio.create_task(there.applied(revision))
    async with there.feeding():
        await waiting
