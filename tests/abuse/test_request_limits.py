"""Clients that send requests that are too large, too slow or too many, to every port that the API opens."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Awaitable, Callable

import httpx
import pytest

from stead.dev.supervised_program import LOOPBACK
from tests.abuse.neighbour import Neighbour
from tests.faults.processes import ApiProcess
from tests.faults.world import World
from tests.patience import slowdown, time_limit

MEGABYTE = 1 << 20
HEAD_SECONDS, BODY_SECONDS = 3, 5
MOST = 1000
HALF_SENT = 800
AT_ONCE = 50
ATTEMPTS = 5
GET = b"GET /healthz HTTP/1.1\r\nHost: stead.test\r\n"
POST = b"POST /v1/sessions HTTP/1.1\r\nHost: stead.test\r\nContent-Type: application/json\r\n"

Figure = Callable[[str, str], None]
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@pytest.fixture(scope="module")
async def api(world: World) -> ApiProcess:
    return await world.api(
        STEAD_REQUEST_HEAD_SECONDS=str(HEAD_SECONDS),
        STEAD_REQUEST_BODY_SECONDS=str(BODY_SECONDS),
        STEAD_CONNECTIONS_PER_ADDRESS=str(MOST),
    )


@pytest.fixture
async def neighbour(api: ApiProcess) -> AsyncIterator[Neighbour]:
    async with httpx.AsyncClient(base_url=api.url, timeout=30) as client:

        async def check_health() -> None:
            assert (await client.get("/healthz")).status_code == 200

        neighbour = Neighbour(check_health)
        await neighbour.live_alone()
        yield neighbour


async def connect(port: int) -> Connection:
    return await asyncio.open_connection(LOOPBACK, port, limit=MEGABYTE)


async def response_to(port: int, *parts: bytes) -> bytes:
    """Everything that the server sends until it closes the connection. The parts are sent one by one."""
    reader, writer = await connect(port)
    try:
        async with time_limit(30):
            return await _exchange(reader, writer, parts)
    finally:
        writer.transport.abort()


async def _exchange(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, parts: tuple[bytes, ...]
) -> bytes:
    # A server that refuses a request closes the connection while it is still being sent.
    with contextlib.suppress(ConnectionError):
        for part in parts:
            writer.write(part)
            await writer.drain()
    received = bytearray()
    with contextlib.suppress(ConnectionError):
        while part := await reader.read(65_536):
            received += part
    return bytes(received)


async def test_a_header_of_100_megabytes_delays_nobody(
    api: ApiProcess, neighbour: Neighbour, record_property: Figure
):
    part = b"a" * MEGABYTE
    async with neighbour.living_beside():
        await asyncio.gather(
            *(response_to(api.port, GET + b"X-Large: ", *[part] * 100) for _ in range(4)),
            *(response_to(api.port, b"GET /" + part, *[part] * 60) for _ in range(2)),
        )
        await neighbour.send_at_least(20)
    record_property("figure", neighbour.figure("headers of 100 MB"))
    assert max(neighbour.attacked) < 0.5 * slowdown()


@pytest.mark.parametrize(
    ("start", "status"),
    [
        pytest.param(GET + b"X-Large: " + b"a" * 200_000 + b"\r\n\r\n", b"431", id="one large header"),
        pytest.param(GET + b"X: y\r\n" * 2000 + b"\r\n", b"431", id="many headers"),
        pytest.param(b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\n\r\n", b"431", id="a long path"),
        pytest.param(b"NOT HTTP AT ALL\r\n\r\n", b"400", id="not HTTP"),
    ],
)
async def test_a_head_that_is_too_large_is_refused_with_the_error_envelope(
    api: ApiProcess, start: bytes, status: bytes
):
    response = await response_to(api.port, start)
    assert response.startswith(b"HTTP/1.1 " + status)
    assert b'"error":{"type":"invalid_request"' in response


async def test_a_large_trailer_is_refused(api: ApiProcess):
    chunked = POST + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\nX-Large: "
    part = b"a" * 65_536
    began = time.monotonic()
    await response_to(api.port, chunked, *[part] * 200)
    assert time.monotonic() - began < 5 * slowdown()


async def test_eight_hundred_half_sent_requests_are_closed_within_the_timeout(
    api: ApiProcess, neighbour: Neighbour, record_property: Figure
):
    async with neighbour.living_beside():
        open_ = await _open_many(HALF_SENT, lambda: connect(api.port))
        for number, (_, writer) in enumerate(open_):
            writer.write([b"", GET, b"\r\n", POST + b"Content-Length: 100\r\n\r\n{"][number % 4])
        seconds = await _seconds_until_closed(open_)
    record_property(
        "figure",
        f"{len(open_)} half-sent requests were closed after {max(seconds):.1f} s;"
        f" limits: {HEAD_SECONDS} s for a head, {BODY_SECONDS} s for a body",
    )
    record_property("figure", neighbour.figure(f"{HALF_SENT} half-sent requests"))
    assert len(seconds) == HALF_SENT


async def test_a_head_that_arrives_byte_by_byte_is_given_up(api: ApiProcess):
    for _ in range(ATTEMPTS):
        response = await _read_while_trickling(api)
        if response is not None:
            break
    assert response is not None
    assert response.startswith(b"HTTP/1.1 408")


async def _read_while_trickling(api: ApiProcess) -> bytes | None:
    """None if a byte met the closed connection: then the response may be lost before it is read."""
    reader, writer = await connect(api.port)
    trickling = asyncio.create_task(_trickle(writer, GET + b"X-Slow: " + b"a" * 10_000))
    try:
        async with time_limit(HEAD_SECONDS + 10):
            return await reader.read()
    except ConnectionResetError:
        return None
    finally:
        trickling.cancel()
        writer.transport.abort()


async def test_a_body_that_arrives_byte_by_byte_is_given_up(api: ApiProcess):
    """Also if the response does not wait for the body."""
    for head in (POST, b"POST /nowhere HTTP/1.1\r\nHost: stead.test\r\n"):
        reader, writer = await connect(api.port)
        writer.write(head + b"Content-Length: 10000\r\n\r\n")
        trickling = asyncio.create_task(_trickle(writer, b" " * 10_000))
        try:
            async with time_limit(BODY_SECONDS + 10):
                await _read_until_closed(reader)
        finally:
            trickling.cancel()
            writer.transport.abort()


async def test_blank_lines_do_not_keep_a_connection_open(api: ApiProcess):
    reader, writer = await connect(api.port)
    writer.write(GET + b"\r\n")
    trickling = asyncio.create_task(_trickle(writer, b"\r\n" * 5000))
    try:
        async with time_limit(HEAD_SECONDS + 20):
            await _read_until_closed(reader)
    finally:
        trickling.cancel()
        writer.transport.abort()


async def test_a_body_that_nobody_reads_ends_the_connection(api: ApiProcess):
    """The operation does not exist, so the response is sent before the body has arrived."""
    head = b"POST /nowhere HTTP/1.1\r\nHost: stead.test\r\nContent-Length: 1000000000\r\n\r\n"
    response = await response_to(api.port, head, *[b"a" * MEGABYTE] * 100)
    assert len(response) < 10_000


async def test_pipelined_requests_are_limited(api: ApiProcess):
    response = await response_to(api.port, (GET + b"\r\n") * 5000)
    assert response.count(b"HTTP/1.1 200") < 100


async def test_a_client_that_reads_its_responses_may_pipeline(api: ApiProcess):
    last = GET + b"Connection: close\r\n\r\n"
    assert (await response_to(api.port, (GET + b"\r\n") * 9 + last)).count(b"HTTP/1.1 200") == 10


async def test_one_address_opens_a_limited_number_of_connections(world: World):
    api = await world.api(STEAD_CONNECTIONS_PER_ADDRESS="20")
    open_ = await _open_many(20, lambda: connect(api.port))
    try:
        refused = await response_to(api.port, GET + b"\r\n")
        assert refused.startswith(b"HTTP/1.1 429")
        assert b"rate_limit.connections" in refused
    finally:
        for _, writer in open_:
            writer.transport.abort()

    async def is_served() -> bool:
        response = await response_to(api.port, GET + b"Connection: close\r\n\r\n")
        return response.startswith(b"HTTP/1.1 200")

    async with time_limit(10):
        while not await is_served():  # noqa: ASYNC110 - nothing announces that the server has noticed
            await asyncio.sleep(0.05)


async def test_connections_that_send_nothing_give_way_to_others(world: World):
    """A trusted proxy has no limit of its own, so all of these connections are accepted."""
    api = await world.api(STEAD_CONNECTIONS="50", STEAD_TRUSTED_PROXIES=LOOPBACK)
    open_ = await _open_many(100, lambda: connect(api.port))
    try:
        response = await response_to(api.port, GET + b"Connection: close\r\n\r\n")
        assert response.startswith(b"HTTP/1.1 200")
    finally:
        for _, writer in open_:
            writer.transport.abort()


async def test_the_metrics_port_has_limits_too(api: ApiProcess):
    part = b"a" * MEGABYTE
    refused = await response_to(api.metrics_port, b"GET /metrics HTTP/1.1\r\nX-Large: ", *[part] * 20)
    assert not refused or refused.startswith(b"HTTP/1.1 431")
    open_ = await _open_many(100, lambda: connect(api.metrics_port))
    for _, writer in open_:
        writer.write(b"GET /metrics HTTP/1.1\r\n")
    assert len(await _seconds_until_closed(open_)) == 100
    assert await api.metric("stead_redis_connected") == 1


async def _open_many(number: int, open_one: Callable[[], Awaitable[Connection]]) -> list[Connection]:
    connections: list[Connection] = []
    while len(connections) < number:
        connections += await asyncio.gather(*(open_one() for _ in range(min(AT_ONCE, number))))
    return connections


async def _seconds_until_closed(connections: list[Connection]) -> list[float]:
    """For each connection that the server closes in time: the seconds that this took."""
    began, seconds = time.monotonic(), list[float]()

    async def wait(reader: asyncio.StreamReader) -> None:
        await _read_until_closed(reader)
        seconds.append(time.monotonic() - began)

    try:
        with contextlib.suppress(TimeoutError):
            async with time_limit(BODY_SECONDS + 10):
                await asyncio.gather(*(wait(reader) for reader, _ in connections))
    finally:
        for _, writer in connections:
            writer.transport.abort()
    return seconds


async def _read_until_closed(reader: asyncio.StreamReader) -> None:
    with contextlib.suppress(ConnectionError):
        while await reader.read(65_536):
            pass


async def _trickle(writer: asyncio.StreamWriter, content: bytes) -> None:
    with contextlib.suppress(ConnectionError):
        for byte in content:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(0.05)
