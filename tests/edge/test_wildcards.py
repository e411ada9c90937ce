"""Hosts below a wildcard domain: a host of its own comes first, and look-ups stay bounded."""

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from stead.edge.certificate import make_self_signed
from stead.protocol.edge_records import HostRecord, RecordLine, name_of_host
from tests.edge.edge_harness import EdgeHarness, start_edge, status_of
from tests.edge.peers import HttpServer, ReceivedRequest
from tests.edge.test_tls import shown

WILDCARD = name_of_host("*.wild.test")


@pytest.fixture(scope="module")
async def edge() -> AsyncIterator[EdgeHarness]:
    async with start_edge() as made:
        await made.site(WILDCARD, "wild", {"index.html": "wild"})
        await made.site("own.wild.test", "own", {"index.html": "own"})
        await made.admin.complete()
        yield made


@pytest.fixture
async def store(edge: EdgeHarness) -> AsyncIterator[tuple[HttpServer, dict[str, bytes]]]:
    """The node's store, which nginx asks: lines by path."""
    known: dict[str, bytes] = {}

    def reply(asked: ReceivedRequest) -> tuple[int, bytes]:
        return (200, known[asked.path]) if asked.path in known else (404, b"")

    server = HttpServer(edge.run / "store.sock", reply)
    await server.start()
    try:
        yield server, known
    finally:
        await server.stop()


async def test_every_host_directly_below_it_is_served(edge: EdgeHarness) -> None:
    for host in ("a.wild.test", "B.WILD.test", "x-1.wild.test"):
        answer = await edge.get(host)
        assert (answer.status_code, answer.text) == (200, "wild")
    for host in ("wild.test", "a.b.wild.test", "a.other.test", "test"):
        assert (await edge.get(host)).status_code == 404


async def test_a_host_of_its_own_comes_first(edge: EdgeHarness) -> None:
    assert (await edge.get("own.wild.test")).text == "own"
    await edge.tell("host", "later.wild.test", HostRecord("env_own"))
    assert (await edge.get("later.wild.test")).text == "own"
    await edge.tell("host", "later.wild.test", None)
    assert (await edge.get("later.wild.test")).text == "wild"
    # Its environment has not arrived yet: the wildcard does not answer in its place.
    await edge.tell("host", "early.wild.test", HostRecord("env_early"))
    assert (await edge.get("early.wild.test")).status_code != 200


async def test_each_name_gets_the_certificate_of_the_wildcard_unless_it_has_its_own(
    edge: EdgeHarness,
) -> None:
    await edge.certificate(WILDCARD)
    for name in ("a.wild.test", "own.wild.test", "OTHER.wild.test"):
        assert await shown(edge, name) == f"CN={WILDCARD}"
    await edge.certificate("own.wild.test")
    assert await shown(edge, "own.wild.test") == "CN=own.wild.test"
    assert await shown(edge, "a.wild.test") == f"CN={WILDCARD}"
    for name in ("a.b.wild.test", "wild.test"):
        with pytest.raises((OSError, ConnectionError)):
            await shown(edge, name)
    heard = await edge.secure("a.wild.test")
    assert status_of(heard) == 200
    # One handshake is not for all names below the wildcard.
    assert status_of(await edge.secure("b.wild.test", sni="a.wild.test")) == 421


async def test_plain_http_is_redirected_to_the_same_name(edge: EdgeHarness) -> None:
    await edge.site(name_of_host("*.safe.test"), "safe", {"index.html": "safe"}, https=True)
    answer = await edge.get("any.safe.test", "/path?a=1")
    assert answer.headers["location"] == f"https://any.safe.test:{edge.secure_port}/path?a=1"


async def test_any_number_of_names_below_a_wildcard_ask_the_store_for_none(
    edge: EdgeHarness, store: tuple[HttpServer, dict[str, bytes]]
) -> None:
    await edge.certificate(WILDCARD)
    answers = await asyncio.gather(*(edge.get(f"n{number}.wild.test") for number in range(30)))
    assert {answer.text for answer in answers} == {"wild"}
    for number in range(10):
        assert await shown(edge, f"s{number}.wild.test") == f"CN={WILDCARD}"
    assert store[0].seen == []


async def test_names_below_nothing_ask_for_their_wildcard_once(
    edge: EdgeHarness, store: tuple[HttpServer, dict[str, bytes]]
) -> None:
    before = asyncio.get_running_loop().time()
    for number in range(10):
        assert (await edge.get(f"r{number}.unknown.test")).status_code == 404
    seconds = asyncio.get_running_loop().time() - before
    paths = [asked.path for asked in store[0].seen]
    assert paths.count(f"/host/{name_of_host('*.unknown.test')}") <= 1 + seconds
    assert len([path for path in paths if path.startswith("/host/r")]) == 10


async def test_a_wildcard_that_is_only_in_the_store_is_found() -> None:
    async with start_edge() as fresh:
        fresh.release("rel-late", {"index.html": "late"})
        environment = {"site": "site_late", "node": fresh.node, "release": "rel-late"}
        lines = (
            RecordLine("host", "_wildcard.late.test", 1, {"environment": "env_late"}),
            RecordLine("environment", "env_late", 2, environment),
        )
        chain, key = make_self_signed("late.test")
        certificate = {"chain": chain.decode(), "key": key.decode()}
        known = {
            "/host/_wildcard.late.test": b"\n".join(map(msgspec.json.encode, lines)),
            "/certificate/_wildcard.late.test": msgspec.json.encode(
                RecordLine("certificate", "_wildcard.late.test", 3, certificate)
            ),
        }

        def reply(asked: ReceivedRequest) -> tuple[int, bytes]:
            return (200, known[asked.path]) if asked.path in known else (404, b"")

        server = HttpServer(fresh.run / "store.sock", reply)
        await server.start()
        try:
            assert (await fresh.get("a.late.test")).text == "late"
            assert await shown(fresh, "a.late.test") == "CN=late.test"
            # The records of the region have not all arrived: a name may have a host of its own.
            assert "/host/a.late.test" in [asked.path for asked in server.seen]
            own = RecordLine("host", "own.late.test", 4, {"environment": "env_own"})
            fresh.release("rel-own", {"index.html": "own"})
            other = RecordLine("environment", "env_own", 5, environment | {"release": "rel-own"})
            known["/host/own.late.test"] = b"\n".join(map(msgspec.json.encode, (own, other)))
            assert (await fresh.get("own.late.test")).text == "own"
        finally:
            await server.stop()
