"""The permanent hosts of deployments: looked up when a visitor comes, and always the same release."""

import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import msgspec
import pytest

from stead.edge.certificate import make_self_signed
from stead.protocol.edge_records import HostRecord, RecordLine, encode
from tests.edge.edge_harness import BOUND, EdgeHarness, start_edge, status_of
from tests.edge.peers import HttpServer, ReceivedRequest

HOST = "01k9zy3v7d00r3m8w5x2t6b4qa--shop-k3f9.preview.test"
OLDER = "01k9zy3v7d00r3m8w5x2t6b4q9--shop-k3f9.preview.test"


Store = dict[str, RecordLine]
"""The node's store, which nginx asks: lines by host."""


@asynccontextmanager
async def serve_store(edge: EdgeHarness) -> AsyncIterator[Store]:
    lines: Store = {}

    def reply(asked: ReceivedRequest) -> tuple[int, bytes]:
        line = lines.get(asked.path.removeprefix("/host/"))
        return (404, b"") if line is None else (200, msgspec.json.encode(line))

    server = HttpServer(edge.run / "store.sock", reply)
    await server.start()
    try:
        yield lines
    finally:
        await server.stop()


@pytest.fixture
async def store(edge: EdgeHarness) -> AsyncIterator[Store]:
    async with serve_store(edge) as lines:
        yield lines


async def _announce(edge: EdgeHarness, store: Store, host: str, release: str) -> None:
    """As the feed does: nginx is told that there is a host, and the store knows the rest."""
    line = edge.line("host", host, HostRecord("env_shop", release=release))
    store[host] = line
    await edge.admin.apply([RecordLine("host", host, line.revision, {})])


async def test_a_permanent_host_shows_its_release_whatever_the_environment_serves(
    edge: EdgeHarness, store: Store
) -> None:
    for name in ("one", "two"):
        edge.release(f"rel-{name}", {"index.html": name, "only-in-" + name: name})
    await edge.site("shop.test", "shop", None, release="rel-two")
    assert (await edge.get(HOST)).status_code == 404
    await _announce(edge, store, OLDER, "rel-one")
    await _announce(edge, store, HOST, "rel-two")

    for host, expected in ((OLDER, "one"), (HOST, "two"), ("shop.test", "two")):
        answer = await edge.get(host)
        assert (answer.status_code, answer.text) == (200, expected)
    assert (await edge.get(OLDER, "/only-in-one")).status_code == 200
    assert (await edge.get(OLDER, "/only-in-two")).status_code == 404
    assert (await edge.get(OLDER)).headers["x-robots-tag"] == "noindex, nofollow"
    assert "x-robots-tag" not in (await edge.get("shop.test")).headers

    store.clear()
    await edge.environment("shop", release="rel-one")
    # A host that was looked up is remembered.
    assert [(await edge.get(host)).text for host in (OLDER, HOST, "shop.test")] == ["one", "two", "one"]

    await edge.tell("host", OLDER, None)
    gone = await edge.get(OLDER)
    assert (gone.status_code, gone.headers["x-stead-reason"]) == (404, "unknown_host")
    assert (await edge.get(HOST)).text == "two"


async def test_permanent_hosts_do_not_fill_the_memory_and_are_not_counted(
    edge: EdgeHarness, store: Store
) -> None:
    await edge.site("few.test", "shop", {"index.html": "here"})
    before = await edge.admin.state()
    lines = [
        RecordLine("host", f"{number:026}--many.preview.test", next(edge.revisions), {})
        for number in range(500)
    ]
    await edge.admin.apply(lines)
    after = await edge.admin.state()
    assert (after.hosts, after.free["records"]) == (before.hosts, before.free["records"])
    assert (await edge.get(lines[0].name)).status_code == 404


async def test_a_suspended_environment_has_no_permanent_hosts(edge: EdgeHarness, store: Store) -> None:
    edge.release("rel-shop", {"index.html": "here"})
    await edge.environment("shop", release="rel-shop", state="suspended")
    await _announce(edge, store, HOST, "rel-shop")
    assert (await edge.get(HOST)).status_code == 503
    await edge.environment("shop", release="rel-shop")
    assert (await edge.get(HOST)).status_code == 200
    await edge.environment("shop", runtime="cms")
    assert (await edge.get(HOST)).headers["x-stead-reason"].startswith("unreleased")


async def test_a_permanent_host_that_cannot_be_looked_up_is_not_reported_as_missing(
    edge: EdgeHarness,
) -> None:
    await edge.admin.complete()
    answer = await edge.get("01k9zy3v7d00r3m8w5x2t6b4zz--unasked.preview.test")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "2")


async def test_whoever_asks_for_random_hosts_does_not_keep_others_from_permanent_ones(
    edge: EdgeHarness, store: Store
) -> None:
    """Neither with names that have the form of permanent hosts, nor with others."""
    edge.release("rel-shop", {"index.html": "here"})
    await edge.environment("shop", release="rel-shop")
    await edge.admin.complete()
    host = HOST.replace("qa--", "qc--")
    await _announce(edge, store, host, "rel-shop")
    names = [f"{number:026d}--x.preview.test" for number in range(200)]
    names += [f"random{number}.test" for number in range(200)]
    requests = [f"GET / HTTP/1.1\r\nHost: {name}\r\n\r\n" for name in names]
    last = "GET / HTTP/1.1\r\nHost: last.test\r\nConnection: close\r\n\r\n"
    answers = await edge.raw("".join((*requests, last)).encode())
    assert answers.count(b"HTTP/1.1 ") == len(names) + 1
    assert answers.count(b"HTTP/1.1 503 ") > 0
    transport = httpx.AsyncHTTPTransport(local_address="127.9.9.9")
    async with httpx.AsyncClient(transport=transport, timeout=BOUND) as other:
        found = await other.get(f"http://127.0.0.1:{edge.port}/", headers={"host": host})
    assert found.text == "here"


async def test_the_certificate_of_the_preview_domain_is_for_permanent_hosts_only(tmp_path: Path) -> None:
    chain, key = make_self_signed("*.preview.test")
    (tmp_path / "chain.pem").write_bytes(chain)
    (tmp_path / "key.pem").write_bytes(key)
    settings = {
        "STEAD_EDGE_PREVIEW_CERTIFICATE": str(tmp_path / "chain.pem"),
        "STEAD_EDGE_PREVIEW_KEY": str(tmp_path / "key.pem"),
    }
    async with start_edge(**settings) as edge, serve_store(edge) as store:
        edge.release("rel-tls", {"index.html": "encrypted"})
        await edge.environment("shop", release="rel-tls")
        await _announce(edge, store, HOST, "rel-tls")
        answer = await edge.secure(HOST)
        assert status_of(answer) == 200
        assert answer.endswith(b"encrypted")
        plain = await edge.get(HOST, "/a?b=c")
        assert (plain.status_code, plain.headers["location"]) == (
            301,
            f"https://{HOST}:{edge.secure_port}/a?b=c",
        )
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await edge.secure("other.preview.test")


def test_the_record_of_an_ordinary_host_is_as_before() -> None:
    assert json.loads(encode(HostRecord("env_1"))) == {"environment": "env_1"}
