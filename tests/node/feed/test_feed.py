"""Records get from NATS to nginx: completely, in order, quickly, and only those of the region."""

import asyncio
import base64
import statistics
import time
from collections.abc import Callable

import pytest

from stead.dev.running_stack import RunningStack
from stead.node.feed import nginx_updater, skipped_records
from stead.protocol.edge_records import CertificateRecord as Sealed
from stead.protocol.edge_records import (
    EdgeRedirect,
    HostRecord,
    PurgeRecord,
    RedirectsRecord,
    bucket_subject,
    certificate_key,
    host_key,
    purge_key,
    redirects_key,
)
from stead.protocol.subjects import Program
from stead.shared.edge_keys import key_from_text, preview_key, region_key, seal
from stead.shared.ids import new_id
from tests.node.feed.feed_harness import FeedHarness, start_feed_harness
from tests.node.harness import connected, start_harness, until
from tests.patience import slowdown

Property = Callable[[str, object], None]
PEM = "-----BEGIN PRIVATE KEY-----\nnever at rest\n-----END PRIVATE KEY-----\n"


async def test_ten_thousand_records_arrive_as_a_snapshot(
    there: FeedHarness, record_property: Property
) -> None:
    count = 10_000
    started = time.monotonic()
    revision = await there.put(there.hosts(count))
    record_property("put_seconds", round(time.monotonic() - started, 2))
    started = time.monotonic()
    async with there.feeding():
        await there.applied(revision)
        taken = time.monotonic() - started
        assert there.missing_hosts(count) == []
        assert there.nginx.completed
        assert there.nginx.heard == sorted(there.nginx.heard)
        assert max(there.nginx.posts) <= 1_000
    record_property("snapshot_seconds", round(taken, 2))
    assert taken < 10
    assert len(there.stored()) == count
    assert there.position() == revision


async def test_each_nginx_gets_the_key_for_previews_of_its_own_node(there: FeedHarness) -> None:
    own = bytes(range(32))
    async with there.feeding(STEAD_NODE_KEY=base64.b64encode(own).decode()):
        await there.applied(await there.put(there.hosts(1)))
        assert there.nginx.keys["/preview-key"] == preview_key(own).hex()
        assert preview_key(own).hex() not in there.nginx.keys["/hop-keys"]
        await there.nginx.stop()
        await there.nginx.start()
        await there.nginx.until(lambda: there.nginx.completed)
        assert there.nginx.keys["/preview-key"] == preview_key(own).hex()


async def test_a_change_arrives_immediately(there: FeedHarness, record_property: Property) -> None:
    taken = []
    async with there.feeding():
        await there.applied(await there.put(there.hosts(10)))
        for number in range(200):
            started = time.monotonic()
            revision = await there.put({there.host(0): HostRecord(f"env_{number}")})
            await there.nginx.until(lambda revision=revision: there.nginx.revision >= revision)
            taken.append(time.monotonic() - started)
    cuts = statistics.quantiles(taken, n=100)
    record_property("change_p50_ms", round(cuts[49] * 1000, 2))
    record_property("change_p99_ms", round(cuts[98] * 1000, 2))
    # A pull request that waits for more records, or for its expiry, would take half a second or more.
    assert cuts[49] < 0.25
    assert there.nginx.known["host h0.example.com"] == {"environment": "env_199"}


async def test_a_deletion_reaches_the_store_and_nginx(there: FeedHarness) -> None:
    async with there.feeding():
        await there.applied(await there.put(there.hosts(3)))
        await there.applied(await there.put({there.host(1): None}))
        assert there.missing_hosts(3) == [1]
        assert set(there.stored()) == {there.host(0), there.host(2)}


async def test_records_that_are_too_large_for_one_request_arrive_in_several(there: FeedHarness) -> None:
    count, size = 40, 900_000
    async with there.feeding():
        revision = await there.put(
            {
                redirects_key(there.region, "site_1", part): RedirectsRecord(
                    "1", (EdgeRedirect("/" + "x" * size, "/", 301),)
                )
                for part in range(count)
            }
        )
        await there.applied(revision)
    assert len(there.nginx.known) == count
    assert max(there.nginx.posts) < 10


async def test_changes_arrive_in_the_order_they_were_made(there: FeedHarness) -> None:
    async with there.feeding():
        for turn in range(20):
            await there.put(there.hosts(50, environment=f"env_{turn}"))
        revision = await there.put({host_key(there.region, "last.example.com"): HostRecord("env_1")})
        await there.applied(revision)
    assert there.nginx.heard == sorted(there.nginx.heard)
    assert {there.nginx.known[f"host h{each}.example.com"]["environment"] for each in range(50)} == {"env_19"}


async def test_a_node_of_another_region_receives_nothing(
    there: FeedHarness, nats_stack: RunningStack
) -> None:
    region = new_id("r").replace("_", "-")
    async with (
        connected(nats_stack, Program.OPERATOR) as operator,
        start_harness(nats_stack, operator, region) as it,
        start_feed_harness(it, region) as elsewhere,
        there.feeding(),
        elsewhere.feeding(),
    ):
        await there.applied(await there.put(there.hosts(5)))
        revision = await elsewhere.put({host_key(region, "own.example.com"): HostRecord("env_2")})
        await elsewhere.applied(revision)
        assert list(elsewhere.nginx.known) == ["host own.example.com"]
        assert list(elsewhere.stored()) == [host_key(region, "own.example.com")]
        assert not there.nginx.has("host", "own.example.com")


async def test_a_node_that_claims_another_region_receives_nothing(there: FeedHarness) -> None:
    await there.put(there.hosts(1))
    async with there.feeding(STEAD_NODE_REGION="elsewhere"):
        await asyncio.sleep(2)
        assert there.nginx.known == {}
        assert not there.nginx.completed


async def test_the_key_of_a_certificate_is_decrypted_only_for_nginx(there: FeedHarness) -> None:
    key = region_key(key_from_text(there.stage.stack.secrets["edge_master_key"]), there.region)
    sealed = Sealed("the chain", seal(key, "shop.example.com", PEM))
    async with there.feeding():
        where = certificate_key(there.region, "shop.example.com")
        await there.applied(await there.put({where: sealed}))
        assert there.nginx.known["certificate shop.example.com"] == {"chain": "the chain", "key": PEM}
        for path in there.stage.data.glob("edge.sqlite*"):
            assert b"never at rest" not in path.read_bytes()
            assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("spoilt", ["moved to another host", "sealed for another region"])
async def test_a_certificate_that_cannot_be_decrypted_is_skipped(there: FeedHarness, spoilt: str) -> None:
    master = key_from_text(there.stage.stack.secrets["edge_master_key"])
    moved = spoilt == "moved to another host"
    key = region_key(master, there.region if moved else "elsewhere")
    host = "other.example.com" if moved else "shop.example.com"
    wrong = Sealed("the chain", seal(key, host, PEM))
    async with there.feeding():
        revision = await there.put(
            {certificate_key(there.region, "shop.example.com"): wrong, **there.hosts(1)}
        )
        await there.applied(revision)
        assert list(there.nginx.known) == ["host h0.example.com"]


async def test_a_malformed_record_is_skipped(there: FeedHarness) -> None:
    jetstream = there.stage.operator.jetstream()
    async with there.feeding():
        for number, nonsense in enumerate((b"", b"{", b"[]", b'{"environment": 1}')):
            await jetstream.publish(bucket_subject(there.host(number)), nonsense)
        await jetstream.publish(bucket_subject(f"{there.region}.novelty.name"), b"{}")
        await there.applied(await there.put(there.hosts(1, start=10)))
        assert list(there.nginx.known) == ["host h10.example.com"]


async def test_certificates_are_sent_once_the_key_is_configured(there: FeedHarness) -> None:
    key = region_key(key_from_text(there.stage.stack.secrets["edge_master_key"]), there.region)
    where = certificate_key(there.region, "shop.example.com")
    revision = await there.put({where: Sealed("the chain", seal(key, "shop.example.com", PEM))})
    async with there.feeding(STEAD_EDGE_KEY=""):
        await there.applied(revision)
        assert there.nginx.known == {}
    async with there.feeding():
        await there.nginx.until(lambda: there.nginx.has("certificate", "shop.example.com"))


async def test_a_revision_is_reported_only_after_nginx_has_applied_it(there: FeedHarness) -> None:
    async with there.feeding():
        first = await there.put(there.hosts(1))
        await there.applied(first)
        there.nginx.answering.clear()
        second = await there.put(there.hosts(1, environment="env_2"))

        async def stored() -> bool | None:
            return there.position() == second or None

        await until(stored)
        await asyncio.sleep(0.5)
        said = await there.edges.last_applied(there.node)
        assert said is not None
        assert said.revision == first
        there.nginx.answering.set()
        await there.applied(second)


async def test_a_restarted_nginx_receives_everything_within_seconds(there: FeedHarness) -> None:
    async with there.feeding():
        await there.applied(await there.put(there.hosts(2_500)))
        await there.put({there.host(7): None})
        await there.nginx.stop()
        await there.put({there.host(8): None})
        await there.nginx.start()
        started = time.monotonic()
        await there.nginx.until(lambda: there.nginx.completed)
        assert time.monotonic() - started < 10 * slowdown()
        assert there.missing_hosts(2_500) == [7, 8]


async def test_a_replaced_nginx_is_noticed_without_a_change(there: FeedHarness) -> None:
    async with there.feeding():
        await there.applied(await there.put(there.hosts(5)))
        await there.nginx.stop()
        await there.nginx.start()
        await there.nginx.until(lambda: there.nginx.completed, bound=5)
        assert there.missing_hosts(5) == []


async def test_changes_while_nginx_is_down_are_sent_later(there: FeedHarness) -> None:
    async with there.feeding():
        await there.applied(await there.put(there.hosts(3)))
        instance, known = there.nginx.instance, dict(there.nginx.known)
        await there.nginx.stop()
        revision = await there.put({there.host(1): None, there.host(3): HostRecord("env_1")})

        async def stored() -> bool | None:
            return there.position() == revision or None

        await until(stored)
        # nginx kept its records and was only unreachable, so it must receive the deletion.
        await there.nginx.start()
        there.nginx.instance = instance
        there.nginx.known.update(known)
        await there.applied(revision)
        assert there.missing_hosts(4) == [1]


async def test_a_deletion_while_the_agent_was_down_reaches_nginx(
    there: FeedHarness,
) -> None:
    async with there.feeding():
        await there.applied(await there.put(there.hosts(3)))
    revision = await there.put({there.host(0): None})
    async with there.feeding():
        await there.applied(revision)
        assert there.missing_hosts(3) == [0]


async def test_a_purge_is_sent_with_its_revision(there: FeedHarness) -> None:
    purge = PurgeRecord("env_1", url="/shop?page=2")
    async with there.feeding():
        revision = await there.put({purge_key(there.region, purge): purge})
        await there.applied(revision)
        assert there.nginx.revision == revision
        assert list(there.nginx.known.values()) == [{"environment": "env_1", "url": "/shop?page=2"}]


async def test_a_record_that_does_not_fit_is_reported_and_does_not_block_the_next(
    there: FeedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # So that the test need not wait for the pause that ships.
    monkeypatch.setattr(skipped_records, "RETRY_SECONDS", 0.5)
    there.nginx.full.add("host h1.example.com")
    async with there.feeding() as feed:
        await there.applied(await there.put(there.hosts(3)))
        assert there.missing_hosts(3) == [1]
        said = await there.edges.last_applied(there.node)
        assert said is not None
        assert (said.skipped, said.skipped_keys, feed.skipped) == (1, (there.host(1),), 1)
        assert await there.edges.find_skipping([there.node], {there.host(1)}) == {there.node}
        assert await there.edges.find_skipping([there.node], {there.host(2)}) == set()

        # It is sent again, in case there is room now.
        there.nginx.full.clear()
        await there.nginx.until(lambda: there.nginx.has("host", "h1.example.com"))

        async def cleared() -> bool | None:
            report = await there.edges.last_applied(there.node)
            return (report is not None and report.skipped == 0) or None

        await until(cleared)
        assert feed.skipped == 0


async def test_a_new_nginx_receives_most_certificates_without_their_content(
    there: FeedHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The number that ships would need as many certificates.
    monkeypatch.setattr(nginx_updater, "WARM_CERTIFICATES", 2)
    key = region_key(key_from_text(there.stage.stack.secrets["edge_master_key"]), there.region)

    def sealed(host: str) -> Sealed:
        return Sealed("the chain", seal(key, host, PEM))

    hosts = [f"c{number}.example.com" for number in range(5)]
    async with there.feeding():
        await there.applied(
            await there.put({certificate_key(there.region, host): sealed(host) for host in hosts})
        )
        await there.nginx.stop()
        await there.nginx.start()
        await there.nginx.until(lambda: there.nginx.completed)
        told = [there.nginx.known[f"certificate {host}"] for host in hosts]
        assert [bool(each) for each in told] == [True, True, False, False, False]
        # A later change is sent in full.
        await there.applied(await there.put({certificate_key(there.region, hosts[4]): sealed(hosts[4])}))
        assert there.nginx.known[f"certificate {hosts[4]}"]["key"] == PEM
