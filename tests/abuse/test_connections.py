"""One address tries to use up the connections and requests that visitors share."""

import asyncio
import contextlib
import ssl
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable

import pytest

from stead.dev.supervised_program import LOOPBACK
from stead.protocol.edge_records import PeerRecord
from tests.abuse.edge_neighbour import EdgeNeighbour
from tests.abuse.test_edge import BASIC, h2, literal
from tests.conftest import FIGURE
from tests.edge.edge_harness import EdgeHarness, start_edge, status_of, unverified_context
from tests.edge.fastcgi import Reply, Request
from tests.patience import time_limit

Property = Callable[[str, object], None]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
ATTACKER, PEER = "127.0.0.66", "127.0.0.77"
MAX_CONNECTIONS, WORKERS, OPENED = 64, 2, 600
RESETS, MAX_STREAMS = 30_000, 1_000
RATE, AT_ONCE = 5, 3
GOAWAY, RST_STREAM = 7, 3


@pytest.fixture(scope="module")
async def edge() -> AsyncIterator[EdgeHarness]:
    async with start_edge(
        STEAD_EDGE_ADDRESS_CONNECTIONS=str(MAX_CONNECTIONS),
        STEAD_EDGE_ADDRESS_RATE=str(RATE),
        STEAD_EDGE_ADDRESS_AT_ONCE=str(AT_ONCE),
        STEAD_EDGE_WORKERS=str(WORKERS),
    ) as made:
        await made.certificate("attacker.test")
        await made.site("attacker.test", "attacker", {"index.html": "attacker"})
        yield made


def frames(heard: bytes) -> Counter[int]:
    """How many frames of each kind there are."""
    kinds: Counter[int] = Counter()
    while len(heard) >= 9:
        kinds[heard[3]] += 1
        heard = heard[9 + int.from_bytes(heard[:3]) :]
    return kinds


async def reset_rapidly(edge: EdgeHarness) -> tuple[int, Counter[int]]:
    """Start and reset streams on one connection, until the edge ends it. Returns how many were sent."""
    context = unverified_context()
    context.set_alpn_protocols(["h2"])
    reader, writer = await asyncio.open_connection(
        LOOPBACK, edge.secure_port, ssl=context, server_hostname="attacker.test"
    )
    block, sent, heard = BASIC + literal(b":authority", b"attacker.test"), 0, bytearray()

    async def listen() -> None:
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            while part := await reader.read(65536):
                heard.extend(part)

    listening = asyncio.create_task(listen())
    writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + h2(4, 0, 0, b""))
    with contextlib.suppress(ConnectionError, ssl.SSLError):
        while sent < RESETS and not listening.done():
            for stream in range(2 * sent + 1, 2 * (sent + 50) + 1, 2):
                writer.write(h2(1, 5, stream, block) + h2(RST_STREAM, 0, stream, bytes(4)))
            sent += 50
            await writer.drain()
            await asyncio.sleep(0)
    await asyncio.wait({listening}, timeout=5)
    listening.cancel()
    writer.close()
    return sent, frames(bytes(heard))


async def test_a_connection_that_resets_its_streams_is_ended(
    edge: EdgeHarness, record_property: Property
) -> None:
    neighbour = await EdgeNeighbour.move_in(edge)
    outcome: list[tuple[int, Counter[int]]] = []

    async def attack() -> None:
        outcome.extend([await reset_rapidly(edge) for _ in range(3)])

    figures = await neighbour.endure(attack())
    record_property(FIGURE, figures)
    for sent, heard in outcome:
        record_property(FIGURE, f"{sent} of {RESETS} resets were sent before it ended: {dict(heard)}")
        assert heard[GOAWAY] == 1
        assert sent < RESETS


async def open_connections(edge: EdgeHarness, address: str, port: int, count: int) -> list[Connection]:
    """Connections that send the beginning of a request and then nothing."""
    opened = []
    for _ in range(count):
        with contextlib.suppress(ConnectionError):
            reader, writer = await asyncio.open_connection(LOOPBACK, port, local_addr=(address, 0))
            writer.write(
                b"GET / HTTP/1.1\r\nHost: attacker.test\r\nX-Slow: " if port == edge.port else b"\x16\x03\x01"
            )
            opened.append((reader, writer))
    return opened


async def count_open(opened: list[Connection], wanted: Callable[[int], bool], seconds: float) -> int:
    """How many are still open, once there are as many as wanted or the time is over."""

    async def is_open(reader: asyncio.StreamReader) -> bool:
        try:
            async with asyncio.timeout(0.01):
                return bool(await reader.read(1))
        except TimeoutError:
            return True
        except ConnectionError:
            return False

    # In real time: nginx closes the connections by itself when a head takes longer than ten seconds.
    until = time.monotonic() + seconds
    while True:
        left = sum(await asyncio.gather(*(is_open(reader) for reader, _ in opened)))
        if wanted(left) or time.monotonic() > until:
            return left
        await asyncio.sleep(0.1)


@pytest.mark.parametrize("port", ["plain", "tls"])
async def test_an_address_has_a_limited_number_of_connections(
    edge: EdgeHarness, port: str, record_property: Property
) -> None:
    neighbour = await EdgeNeighbour.move_in(edge)
    left, seconds = OPENED, 0.0

    async def attack() -> None:
        nonlocal left, seconds
        number = edge.port if port == "plain" else edge.secure_port
        opened = await open_connections(edge, ATTACKER, number, OPENED)
        began = time.monotonic()
        try:
            left = await count_open(opened, lambda count: count <= WORKERS * MAX_CONNECTIONS, 5)
            seconds = time.monotonic() - began
        finally:
            for _, writer in opened:
                writer.close()

    record_property(FIGURE, await neighbour.endure(attack()))
    record_property(FIGURE, f"{left} of {OPENED} connections were left after {seconds:.1f} s")
    assert left <= WORKERS * MAX_CONNECTIONS


async def test_other_edges_may_have_more_connections(edge: EdgeHarness) -> None:
    await edge.tell("node", "node-peer", PeerRecord(f"{PEER}:80"))
    opened = await open_connections(edge, PEER, edge.port, 300)
    try:
        assert await count_open(opened, lambda count: count < 300, 3) == 300
    finally:
        for _, writer in opened:
            writer.close()


async def visit(edge: EdgeHarness, address: str, path: str) -> bytes:
    reader, writer = await asyncio.open_connection(LOOPBACK, edge.port, local_addr=(address, 0))
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: app.test\r\nConnection: close\r\n\r\n".encode())
        async with time_limit(30):
            return await reader.read()
    finally:
        writer.close()


async def test_an_address_reaches_an_application_a_limited_number_of_times(edge: EdgeHarness) -> None:
    application = await edge.application("app")
    await edge.site("app.test", "app", None, runtime="cms", waf="off", cache_ttl=600)
    answers = [await visit(edge, ATTACKER, f"/?{number}") for number in range(10 * RATE)]
    refused = [answer for answer in answers if status_of(answer) == 429]
    assert refused
    assert all(b"X-Stead-Reason: too_many" in answer for answer in refused)
    assert {status_of(answer) for answer in answers} == {200, 429}
    assert status_of(await visit(edge, "127.0.0.67", "/")) == 200
    # A cached page reaches no application.
    assert status_of(await visit(edge, ATTACKER, "/")) == 200

    pause = asyncio.Event()

    async def wait(_: Request) -> Reply:
        await pause.wait()
        return Reply(b"done")

    application.handler = wait
    visits = [
        asyncio.create_task(visit(edge, "127.0.0.68", f"/slow?{number}")) for number in range(AT_ONCE + 2)
    ]
    done, waiting = await asyncio.wait(visits, timeout=5)
    pause.set()
    assert [status_of(task.result()) for task in done] == [429, 429]
    assert {status_of(await task) for task in waiting} == {200}
