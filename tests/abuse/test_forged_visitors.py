"""Builds and sites on a node send traffic from the node's address, which is that of an edge. They must not be
able to pretend that another edge forwarded a visitor."""

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from stead.dev.supervised_program import LOOPBACK
from stead.protocol.edge_records import PeerRecord
from tests.abuse.edge_neighbour import EdgeNeighbour
from tests.conftest import FIGURE
from tests.edge.edge_harness import EdgeHarness, start_edge, status_of
from tests.edge.hop import sign

KEY, OLD_KEY, OTHER_KEY = b"k" * 32, b"o" * 32, b"x" * 32
HOST, VISITOR = "closed.test", "192.0.2.7"
Visit = Callable[..., Awaitable[int]]


@pytest.fixture(scope="module")
async def closed() -> AsyncIterator[EdgeHarness]:
    """A site that only one address may visit, on an edge whose peer has the address of this test."""
    async with start_edge() as made:
        await made.admin.set_hop_keys([KEY, OLD_KEY])
        await made.tell("node", "node-build", PeerRecord(f"{LOOPBACK}:80"))
        await made.site(HOST, "closed", {"index.html": "closed"}, allowed_ips=[VISITOR])
        yield made


@pytest.fixture
def visit(closed: EdgeHarness) -> Visit:
    async def get(signature: str | None, *, target: str = "/", scheme: str = "http") -> int:
        lines = [
            f"GET {target} HTTP/1.1",
            f"Host: {HOST}",
            "X-Stead-Hop: 1",
            f"X-Stead-Visitor: {VISITOR}",
            f"X-Stead-Scheme: {scheme}",
            *([] if signature is None else [f"X-Stead-Signature: {signature}"]),
            "Connection: close",
        ]
        return status_of(await closed.raw("\r\n".join([*lines, "", ""]).encode()))

    return get


async def test_a_forwarded_visitor_is_recognized_by_the_signature(closed: EdgeHarness, visit: Visit) -> None:
    assert await visit(sign(KEY, closed.node, HOST, "/", VISITOR)) == 200
    assert await visit(sign(KEY, closed.node, HOST, "/?a=%20b", VISITOR), target="/?a=%20b") == 200
    # A key that is being replaced is still accepted.
    assert await visit(sign(OLD_KEY, closed.node, HOST, "/", VISITOR)) == 200


async def test_forged_headers_from_the_address_of_a_node_open_no_closed_site(
    closed: EdgeHarness, visit: Visit, record_property: Callable[[str, object], None]
) -> None:
    node = closed.node
    forged = {
        "unsigned": None,
        "empty": "",
        "nonsense": "1-AAAA",
        "no time": sign(KEY, node, HOST, "/", VISITOR).partition("-")[2],
        "other key": sign(OTHER_KEY, node, HOST, "/", VISITOR),
        "other node": sign(KEY, "node-z", HOST, "/", VISITOR),
        "other host": sign(KEY, node, "open.test", "/", VISITOR),
        "other path": sign(KEY, node, HOST, "/open", VISITOR),
        "other method": sign(KEY, node, HOST, "/", VISITOR, method="POST"),
        "other visitor": sign(KEY, node, HOST, "/", "192.0.2.8"),
        "old": sign(KEY, node, HOST, "/", VISITOR, age=120),
        "future": sign(KEY, node, HOST, "/", VISITOR, age=-120),
        "truncated": sign(KEY, node, HOST, "/", VISITOR)[:-8],
    }
    neighbour = await EdgeNeighbour.move_in(closed)

    async def attack() -> None:
        for _ in range(10):
            answers = {name: await visit(signature) for name, signature in forged.items()}
            assert set(answers.values()) == {403}, answers
            assert await visit(sign(KEY, node, HOST, "/", VISITOR), scheme="https") == 403

    record_property(FIGURE, await neighbour.endure(attack()))


async def test_without_keys_no_edge_is_believed(closed: EdgeHarness, visit: Visit) -> None:
    await closed.admin.set_hop_keys([])
    try:
        assert await visit(sign(b"", closed.node, HOST, "/", VISITOR)) == 403
        assert await visit(sign(KEY, closed.node, HOST, "/", VISITOR)) == 403
    finally:
        await closed.admin.set_hop_keys([KEY, OLD_KEY])


async def test_the_signature_does_not_reach_applications(closed: EdgeHarness) -> None:
    await closed.application("app")
    await closed.site("app.test", "app", None, runtime="cms", waf="off")
    signature = sign(KEY, closed.node, "app.test", "/", VISITOR)
    headers = {
        "x-stead-hop": "1",
        "x-stead-visitor": VISITOR,
        "x-stead-scheme": "http",
        "x-stead-signature": signature,
    }
    answer = await closed.get("app.test", "/", headers=headers)
    assert answer.json()["REMOTE_ADDR"] == VISITOR
    assert signature not in answer.text
