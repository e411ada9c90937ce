"""Two thousand releases of one site are switched while clients read it."""

import asyncio
import time
from collections.abc import Callable

from stead.dev.supervised_program import LOOPBACK
from tests.conftest import FIGURE
from tests.edge.edge_harness import EdgeHarness

SWITCHES = 2_000
READERS = 4
LATE = 0.1


async def test_switching_releases_never_serves_errors_mixtures_or_old_files(
    edge: EdgeHarness, record_property: Callable[[str, object], None]
) -> None:
    """Each release has its number in two files of different length. A request that starts after a switch was
    reported must get the new release."""
    for number in range(SWITCHES):
        edge.release(f"r{number}", {"index.html": f"{number} " + "x" * (number % 97) + f" {number}"})
    await edge.site("switching.test", "switching", None, release="r0")
    reported, since = 0, time.monotonic()
    done = asyncio.Event()
    reads, late = 0, 0.0

    async def read() -> None:
        nonlocal reads, late
        reader, writer = await asyncio.open_connection(LOOPBACK, edge.port)
        while not done.is_set():
            expected, reported_at = reported, since
            writer.write(b"GET / HTTP/1.1\r\nHost: switching.test\r\n\r\n")
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 "), head
            length = int(head.split(b"Content-Length: ")[1].split(b"\r\n")[0])
            body = (await reader.readexactly(length)).decode()
            first, last = body.split(" ")[0], body.split(" ")[-1]
            assert first == last, body
            if int(first) < expected:
                late = max(late, time.monotonic() - reported_at)
            reads += 1
        writer.close()

    async def switch() -> None:
        nonlocal reported, since
        for number in range(1, SWITCHES):
            await edge.environment("switching", release=f"r{number}")
            reported, since = number, time.monotonic()
        done.set()

    async with asyncio.TaskGroup() as tasks:
        for _ in range(READERS):
            tasks.create_task(read())
        tasks.create_task(switch())
    assert reads > SWITCHES / 4
    assert late <= LATE
    record_property(
        FIGURE, f"{SWITCHES} switches, {reads} reads, none bad; latest old release {late * 1e3:.1f} ms"
    )
