"""The control plane's side of the feed: writing records, expiry, and announcing nodes."""

import asyncio

import nats.js.errors
import pytest
from typer.testing import CliRunner

from stead.control.edge_feed.feed import FeedUnavailable, NotApplied
from stead.control.engines.nats import Nats as Connection
from stead.control.engines.nats_streams import ensure_consumers, ensure_streams
from stead.control.provisioning import edge_key, edge_progress
from stead.dev.engines.nats import Nats
from stead.dev.running_stack import RunningStack
from stead.protocol.edge_records import (
    BUCKET,
    DELETIONS_KEPT_SECONDS,
    MAX_PURGES,
    PURGES_KEPT_SECONDS,
    SUPERSEDED_KEPT_SECONDS,
    AppliedRevision,
    EdgeRecord,
    HostRecord,
    PurgeRecord,
    bucket_subject,
    encode,
    environment_key,
    host_key,
    node_key,
    purge_key,
    purge_keys_of,
)
from stead.protocol.subjects import Program, applied, bucket_stream
from stead.shared.edge_keys import key_from_text, key_to_text, region_key
from stead.steadctl import app
from tests.node.feed.feed_harness import FeedHarness
from tests.patience import time_limit

STREAM = bucket_stream(BUCKET)


async def kept_for(there: FeedHarness, key: str) -> str | None:
    message = await there.stage.operator.jetstream().get_last_msg(STREAM, bucket_subject(key))
    return (message.headers or {}).get("Nats-TTL")


async def test_revisions_ascend_and_the_highest_is_returned(there: FeedHarness) -> None:
    first = await there.put(there.hosts(1_200))
    second = await there.put({there.host(0): HostRecord("env_2")})
    assert second == first + 1
    assert second == await there.edges.last_revision()
    assert await there.edges.read_record(there.host(0)) == encode(HostRecord("env_2"))


async def test_purges_and_deletions_expire_and_all_other_records_do_not(there: FeedHarness) -> None:
    purge = PurgeRecord("env_1")
    await there.put({**there.hosts(2), purge_key(there.region, purge): purge})
    await there.put({there.host(1): None})
    assert await kept_for(there, there.host(0)) is None
    assert await kept_for(there, there.host(1)) == str(DELETIONS_KEPT_SECONDS)
    assert await kept_for(there, purge_key(there.region, purge)) == str(PURGES_KEPT_SECONDS)
    assert await there.edges.read_record(there.host(1)) is None


async def test_a_message_with_an_expiry_expires(there: FeedHarness) -> None:
    jetstream, subject = there.stage.operator.jetstream(), bucket_subject(there.host(0))
    await jetstream.publish(subject, b"{}", msg_ttl=1)
    async with time_limit(10):
        while True:
            try:
                await jetstream.get_last_msg(STREAM, subject)
            except nats.js.errors.NotFoundError:
                return
            await asyncio.sleep(0.1)


async def test_keys_of_two_regions_are_refused_together(there: FeedHarness) -> None:
    with pytest.raises(ValueError, match="more than one region"):
        await there.put(
            {there.host(0): HostRecord("env_1"), host_key("elsewhere", "a.example.com"): HostRecord("env_1")}
        )
    with pytest.raises(ValueError, match="nothing"):
        await there.put({})


async def test_a_late_caller_finds_the_last_applied_revision(there: FeedHarness) -> None:
    async with there.feeding():
        revision = await there.put(there.hosts(1))
        await there.applied(revision)
    await there.applied(revision, within=2)
    await there.applied(revision - 1, within=2)


async def test_all_given_nodes_are_waited_for(there: FeedHarness) -> None:
    async with there.feeding():
        revision = await there.put(there.hosts(1))
        with pytest.raises(NotApplied) as raised:
            await there.edges.wait_until_applied(
                there.region, [there.node, "silent-1", "silent-2"], revision, 1.5
            )
    assert raised.value.nodes == ("silent-1", "silent-2")


async def test_a_report_about_another_region_or_in_the_name_of_another_node_is_ignored(
    there: FeedHarness,
) -> None:
    revision = await there.put(there.hosts(1))
    operator = there.stage.operator.jetstream()
    await operator.publish(applied(there.node), encode(AppliedRevision(there.node, "elsewhere", revision)))
    with pytest.raises(NotApplied):
        await there.applied(revision, within=0.5)
    waiting = asyncio.create_task(there.applied(revision, within=2))
    await asyncio.sleep(0.3)
    await operator.publish(applied("other"), encode(AppliedRevision(there.node, there.region, revision)))
    with pytest.raises(NotApplied):
        await waiting


async def test_a_node_is_announced_once_and_again_when_its_address_changes(there: FeedHarness) -> None:
    key = node_key(there.region, there.node)
    await there.edges.publish_peer(there.region, there.node, "10.0.0.1:80")
    first = await there.edges.last_revision()
    await there.edges.publish_peer(there.region, there.node, "10.0.0.1:80")
    assert await there.edges.last_revision() == first
    await there.edges.publish_peer(there.region, there.node, "10.0.0.2:80")
    assert await there.edges.read_record(key) == b'{"address":"10.0.0.2:80"}'
    for nonsense in ("10.0.0.1", "10.0.0.1:80/path", "a b:80", "http://10.0.0.1:80"):
        with pytest.raises(ValueError, match="not the address of an edge"):
            await there.edges.publish_peer(there.region, there.node, nonsense)


async def test_a_node_reads_only_the_region_that_the_operator_moved_it_to(
    there: FeedHarness, worker: Connection
) -> None:
    for region in (there.region, there.region, "elsewhere", there.region):
        await ensure_consumers(worker, there.node, region)
        found = await there.stage.operator.jetstream().consumer_info(STREAM, there.node)
        assert found.config.filter_subject == bucket_subject(f"{region}.>")


async def test_creating_the_streams_again_changes_nothing(there: FeedHarness, worker: Connection) -> None:
    revision = await there.put(there.hosts(1))
    await ensure_streams(worker)
    assert await there.put({there.host(0): HostRecord("env_2")}) == revision + 1


async def test_an_operator_sees_the_applied_revision_of_an_edge(
    there: FeedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in there.stage.stack.environment(Program.WORKER).items():
        monkeypatch.setenv(variable, value)
    async with there.feeding():
        revision = await there.put(there.hosts(1))
        await there.applied(revision)
    await there.put(there.hosts(3, start=1))
    said = await edge_progress(there.node)
    assert f"everything up to revision {revision}; 3 newer records" in said
    assert await edge_progress("nobody") == "edge: the node has never sent a heartbeat"
    monkeypatch.setenv("STEAD_NATS_USER", "api")
    assert "only the worker" in await edge_progress(there.node)


def test_an_operator_can_print_the_key_of_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"DATABASE_URL": "-", "REDIS_URL": "-", "NATS_URL": "-", "SEALING_KEY": "-"}
    for name, value in given.items():
        monkeypatch.setenv(f"STEAD_{name}", value)
    monkeypatch.setenv("STEAD_EDGE_MASTER_KEY", key_to_text(bytes(32)))
    assert key_from_text(edge_key("us-east")) == region_key(bytes(32), "us-east")
    printed = CliRunner().invoke(app, ["nodes", "key", "us-east"])
    assert (printed.exit_code, printed.output) == (0, edge_key("us-east") + "\n")
    monkeypatch.setenv("STEAD_EDGE_MASTER_KEY", "nonsense")
    assert CliRunner().invoke(app, ["nodes", "key", "us-east"]).exit_code == 1


async def test_an_unreachable_nats_is_reported(apart: tuple[RunningStack, FeedHarness]) -> None:
    stack, it = apart
    await stack.stop(Nats)
    with pytest.raises(FeedUnavailable):
        await it.put(it.hosts(1))
    with pytest.raises(NotApplied):
        await it.applied(1, within=1)
    await stack.start(Nats)
    async with it.feeding():
        async with time_limit(20):
            while True:
                try:
                    revision = await it.put(it.hosts(1))
                    break
                except FeedUnavailable:
                    await asyncio.sleep(0.2)
        await it.applied(revision)


async def test_a_worker_can_be_stopped_while_it_waits(there: FeedHarness) -> None:
    for _ in range(20):
        waiting = asyncio.create_task(there.applied(1 << 50, within=60))
        await asyncio.sleep(0.01)
        waiting.cancel()
        async with time_limit(5):
            with pytest.raises(asyncio.CancelledError):
                await waiting


async def purge_keys(there: FeedHarness, env: str) -> set[str]:
    """The keys of an environment's purges that the bucket holds and that are not deleted."""
    keys = await there.edges._list_keys(purge_keys_of(there.region, env))
    return {key for key in keys if await there.edges.read_record(key) is not None}


async def test_too_many_purges_of_an_environment_become_a_purge_of_all_its_pages(there: FeedHarness) -> None:
    def purge(number: int) -> dict[str, EdgeRecord | None]:
        record = PurgeRecord("env_1", url=f"/{number}")
        return {purge_key(there.region, record): record}

    everything = purge_key(there.region, PurgeRecord("env_1"))
    for number in range(MAX_PURGES):
        await there.put(purge(number))
    await there.put(purge(0))
    kept = await purge_keys(there, "env_1")
    assert len(kept) == MAX_PURGES
    assert everything not in kept
    await there.put(purge(MAX_PURGES))
    assert await purge_keys(there, "env_1") == {everything}
    # The deletions do not stay for long either.
    assert await kept_for(there, next(iter(kept))) == str(SUPERSEDED_KEPT_SECONDS)
    await there.put(purge(1))
    assert len(await purge_keys(there, "env_1")) == 2


async def test_a_deleted_environment_leaves_no_purges(there: FeedHarness) -> None:
    purge = PurgeRecord("env_1", tag="news")
    await there.put({purge_key(there.region, purge): purge})
    await there.put({environment_key(there.region, "env_1"): None})
    assert await purge_keys(there, "env_1") == set()
