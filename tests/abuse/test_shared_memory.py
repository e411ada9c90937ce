"""One tenant tries to use up the memory of the edge, which all tenants share."""

import asyncio
from collections.abc import AsyncIterator, Callable

import pytest

from stead.control.redirects.rules import MAX_BYTES, RedirectRule, split_into_parts
from stead.edge.certificate import make_self_signed
from stead.node.feed.record_decoder import RecordDecoder
from stead.node.feed.record_server import RecordServer
from stead.node.feed.record_store import RecordChange, RecordStore
from stead.protocol import edge_records
from stead.protocol.edge_records import CertificateRecord, HostRecord, PurgeRecord, RedirectSet
from stead.shared.edge_keys import seal
from tests.abuse.edge_neighbour import EdgeNeighbour
from tests.conftest import FIGURE
from tests.edge.edge_harness import EdgeHarness, start_edge, unverified_context
from tests.edge.fastcgi import Application, Reply, Request
from tests.edge.test_tls import shown

Property = Callable[[str, object], None]
REGION, KEY = "here", bytes(32)
SMALL = {
    f"STEAD_EDGE_MEMORY_{name}": "1" for name in ("RECORDS", "REDIRECTS", "CERTIFICATES", "PURGES", "PAGES")
}


@pytest.fixture
async def small() -> AsyncIterator[EdgeHarness]:
    """An edge with as little memory as possible."""
    async with start_edge(**SMALL) as made:
        yield made


async def _number(request: Request) -> Reply:
    _number.count += 1  # type: ignore[attr-defined]
    return Reply(f"{_number.count} {request.uri}".encode())  # type: ignore[attr-defined]


_number.count = 0  # type: ignore[attr-defined]


async def _application(edge: EdgeHarness, name: str) -> Application:
    made = await edge.application(name)
    made.handler = _number
    await edge.site(f"{name}.test", name, None, runtime="cms", waf="off", cache_ttl=600)
    return made


async def _fetch(edge: EdgeHarness, name: str, path: str) -> str:
    return (await edge.get(f"{name}.test", path)).headers["x-cache"]


async def test_purges_of_long_urls_block_nobody(small: EdgeHarness, record_property: Property) -> None:
    """20,000 URLs of 2,000 characters are 40 times the memory for purges."""
    await _application(small, "attacker")
    await _application(small, "shop")
    neighbour = await EdgeNeighbour.move_in(small)

    async def attack() -> None:
        for batch in range(100):
            purges = [
                PurgeRecord("env_attacker", url=f"/{batch}/{number}/" + "x" * 2000) for number in range(200)
            ]
            answer = await small.admin.apply(
                small.line("purge", f"env_attacker.url.{batch}.{number}", purge)
                for number, purge in enumerate(purges)
            )
            assert answer.skipped == ()

    record_property(FIGURE, await neighbour.endure(attack()))
    free = (await small.admin.state()).free["purges"]
    record_property(FIGURE, f"{free} of 1048576 bytes for purges are free")
    assert free > 2**19

    # Purges still do what they say, for the attacker and for others.
    for name in ("attacker", "shop"):
        for path in ("/a", "/b"):
            assert [await _fetch(small, name, path), await _fetch(small, name, path)] == ["MISS", "HIT"]
        await small.tell("purge", f"env_{name}.url.a", PurgeRecord(f"env_{name}", url="/a"))
        assert await _fetch(small, name, "/a") == "MISS"
    assert await _fetch(small, "shop", "/b") == "HIT"


async def test_an_environment_with_too_many_purges_is_purged_as_a_whole(small: EdgeHarness) -> None:
    await _application(small, "many")
    assert [await _fetch(small, "many", "/kept"), await _fetch(small, "many", "/kept")] == ["MISS", "HIT"]
    for number in range(edge_records.MAX_PURGES):
        await small.tell("purge", f"env_many.url.{number}", PurgeRecord("env_many", url=f"/{number}"))
    assert await _fetch(small, "many", "/kept") == "HIT"
    await small.tell("purge", "env_many.url.more", PurgeRecord("env_many", url="/more"))
    assert [await _fetch(small, "many", "/kept"), await _fetch(small, "many", "/kept")] == ["MISS", "HIT"]
    # The record of all pages has replaced the others, so there is room for single ones again.
    await small.tell("purge", "env_many.url.again", PurgeRecord("env_many", url="/again"))
    assert await _fetch(small, "many", "/kept") == "HIT"


def _rules(number: int, size: int) -> list[RedirectRule]:
    count = max(1, size // 1000)
    return [RedirectRule(f"/{number}/{each}/" + "x" * 480, "/" + "y" * 480, 301) for each in range(count)]


async def _redirect(edge: EdgeHarness, name: str, rules: list[RedirectRule], version: str) -> int:
    """Returns how many records were skipped."""
    skipped = 0
    for part, record in enumerate(split_into_parts(rules, version)):
        skipped += len((await edge.tell("redirects", f"site_{name}.{part}", record)).skipped)
    answer = await edge.environment(name, release=f"rel-{name}", redirects=RedirectSet(version))
    return skipped + len(answer.skipped)


async def test_redirects_that_do_not_fit_block_nobody(small: EdgeHarness, record_property: Property) -> None:
    await small.site("first.test", "first", {"index.html": "first"})
    assert await _redirect(small, "first", [RedirectRule("/old", "/new", 301)], "v1") == 0
    neighbour = await EdgeNeighbour.move_in(small)
    skipped = 0

    async def attack() -> None:
        nonlocal skipped
        for number in range(20):
            await small.site(f"filler{number}.test", f"filler{number}", {"index.html": ""})
            skipped += await _redirect(small, f"filler{number}", _rules(number, MAX_BYTES // 4), "v1")

    record_property(FIGURE, await neighbour.endure(attack()))
    record_property(FIGURE, f"{skipped} records did not fit")
    assert skipped > 0
    assert (await small.get("first.test", "/old")).headers["location"] == "/new"
    assert (await small.get("filler19.test", "/")).status_code == 200


async def test_replacing_redirects_again_and_again_keeps_only_two_versions(small: EdgeHarness) -> None:
    await small.site("turning.test", "turning", {"index.html": ""})
    for turn in range(60):
        assert await _redirect(small, "turning", _rules(turn, MAX_BYTES // 8), f"v{turn}") == 0
    answer = await small.get("turning.test", "/59/0/" + "x" * 480)
    assert answer.status_code == 301


async def test_a_record_that_grows_beyond_the_memory_keeps_its_older_version(small: EdgeHarness) -> None:
    """A failed write removes the old value, which must be restored."""
    await small.site("grown.test", "grown", {"index.html": "small"})
    for number in range(20_000):
        answer = await small.tell("host", f"fill{number}.example", HostRecord("env_" + "x" * 120))
        if answer.skipped:
            break
    assert [each.dict for each in answer.skipped] == ["records"]
    release = small.release("rel-grown-2", {"index.html": "grown"})
    networks = [f"10.{number // 256}.{number % 256}.0/24" for number in range(1000)]
    answer = await small.environment("grown", release=release, allowed_ips=networks)
    assert [(each.line, each.dict) for each in answer.skipped] == [(1, "records")]
    assert (await small.get("grown.test")).text == "small"
    # What fits is still accepted.
    await small.environment("grown", release=release)
    assert (await small.get("grown.test")).text == "grown"


async def test_certificates_beyond_the_memory_are_looked_up_when_they_are_needed(
    small: EdgeHarness, record_property: Property
) -> None:
    """The store of the node has many times more certificates than fit in the memory of nginx."""
    count, context = 1_500, unverified_context()
    chain, key = make_self_signed("many.example")
    store = RecordStore(small.data / "edge.sqlite")
    store.begin_history("history")
    names = [f"c{number}.example" for number in range(count)]
    store.apply(
        [
            RecordChange(
                edge_records.certificate_key(REGION, name),
                number,
                number,
                edge_records.encode(CertificateRecord(chain.decode(), seal(KEY, name, key.decode()))),
            )
            for number, name in enumerate(names, 1)
        ],
        last=True,
    )
    socket = small.run / "store.sock"
    try:
        async with RecordServer(store, RecordDecoder([KEY]), REGION).listen(socket):
            neighbour = await EdgeNeighbour.move_in(small)
            for start in range(0, count, 500):
                await small.admin.apply(
                    small.line("host", name, HostRecord("env_neighbour"))
                    for name in names[start : start + 500]
                )

            async def visit_all() -> None:
                for name in names:
                    assert await shown(small, name, context) == "CN=many.example"

            record_property(FIGURE, await neighbour.endure(visit_all()))
            # The first one was evicted and is found again.
            assert await shown(small, names[0]) == "CN=many.example"
            assert (await small.admin.state()).free["certificates"] >= 0
    finally:
        store.close()
    await asyncio.to_thread(socket.unlink, missing_ok=True)
