"""Clients that try to exhaust the gateway: each gets no more than its part, and a neighbour keeps working."""

import asyncio
import hashlib
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.programs import Repositories
from stead.dev.running_stack import RunningStack, run_stack
from tests.conftest import FIGURE
from tests.patience import time_limit
from tests.repositories.site_backups import BackedUpSite, Gateway

MEGABYTE = 1024 * 1024
ATTACKER = "127.0.0.9"
BODY_SECONDS = 5
MOST_TIMES = 8.0


@pytest.fixture(scope="module")
async def impatient(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gateway]:
    """A gateway that waits five seconds for a file instead of two minutes."""
    data = tmp_path_factory.mktemp("impatient")
    settings = {"STEAD_REPOSITORIES_BODY_SECONDS": str(BODY_SECONDS)}
    async with run_stack(data, [SeaweedFS, Repositories], settings=settings) as stack:
        found = Gateway.of(stack)
        await found.store.objects().ensure_bucket()
        yield found


@asynccontextmanager
async def connection(url: str) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    parts = urlsplit(url)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port, local_addr=(ATTACKER, 0))
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


def post(url: str, size: int | None, content: bytes = b"") -> bytes:
    name = hashlib.sha256(content).hexdigest()
    length = "Transfer-Encoding: chunked" if size is None else f"Content-Length: {size}"
    return f"POST {urlsplit(url).path}data/{name} HTTP/1.1\r\nHost: x\r\n{length}\r\n\r\n".encode()


async def read_status(reader: asyncio.StreamReader, seconds: float = 30) -> int:
    """0 if the connection was closed."""
    async with time_limit(seconds):
        line = await reader.readline()
    return int(line.split()[1]) if line else 0


async def test_files_that_are_too_large_or_have_no_length_are_refused_before_they_are_read(gateway: Gateway):
    site = await gateway.new_site()
    url = gateway.token(site.id)
    for size, status in ((65 * MEGABYTE, 413), (1 << 62, 413), (None, 411)):
        async with connection(url) as (reader, writer):
            writer.write(post(url, size))
            assert await read_status(reader) == status


async def test_a_lock_is_small(gateway: Gateway):
    site = await gateway.new_site()
    url = gateway.token(site.id)
    async with httpx.AsyncClient() as client:
        for size, status in ((4096, 200), (4097, 413)):
            content = os.urandom(size)
            path = f"locks/{hashlib.sha256(content).hexdigest()}"
            assert (await client.post(url + path, content=content)).status_code == status
        assert (await client.get(f"{url}locks/")).json() == []


async def test_a_body_that_arrives_too_slowly_is_cut_off(impatient: Gateway):
    site = await impatient.new_site()
    url = impatient.token(site.id)
    async with connection(url) as (reader, writer):
        writer.write(post(url, MEGABYTE) + b"a")
        started = time.monotonic()
        assert await read_status(reader, BODY_SECONDS * 6) in (0, 408)
        assert time.monotonic() - started >= BODY_SECONDS * 0.8


async def test_a_job_has_few_requests_at_a_time_and_a_node_a_part_of_the_memory(gateway: Gateway):
    site = await gateway.new_site()
    for url, size, accepted in (
        (gateway.token(site.id), 1000, 16),
        (gateway.token(site.id, node="one"), 60 * MEGABYTE, 2),
    ):
        open_connections = [connection(url) for _ in range(20)]
        started = [await each.__aenter__() for each in open_connections]
        for _, writer in started:
            writer.write(post(url, size) + b"a")
        reading = [asyncio.create_task(read_status(reader)) for reader, _ in started]
        async with time_limit(30):
            while sum(task.done() for task in reading) < 20 - accepted:
                await asyncio.wait([each for each in reading if not each.done()], timeout=0.2)
        assert {task.result() for task in reading if task.done()} == {429}
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)
        for each in open_connections:
            await each.__aexit__(None, None, None)


def _change_files(folder: Path) -> None:
    for each in folder.iterdir():
        each.write_bytes(os.urandom(each.stat().st_size))


async def measure_backup(site: BackedUpSite, folder: Path) -> float:
    _change_files(folder)
    started = time.monotonic()
    await site.back_up(folder)
    return time.monotonic() - started


async def hold_connection(url: str) -> None:
    """Opens connections again and again, with a request that never ends."""
    while True:
        try:
            async with connection(url) as (reader, writer):
                writer.write(post(url, 4 * MEGABYTE) + b"a" * 1000)
                await writer.drain()
                if await read_status(reader, 60) == 0:
                    await asyncio.sleep(0.2)
        except (OSError, TimeoutError):
            await asyncio.sleep(0.2)


async def send_wrong_files(url: str) -> None:
    """Complete files with wrong names, which the gateway must read and hash to refuse them."""
    content = os.urandom(MEGABYTE)
    async with httpx.AsyncClient(
        transport=httpx.AsyncHTTPTransport(local_address=ATTACKER), timeout=60
    ) as client:
        while True:
            try:
                await client.post(f"{url}data/{'0' * 64}", content=content)
            except httpx.HTTPError:
                await asyncio.sleep(0.2)


async def test_a_neighbour_backs_up_while_a_node_does_its_worst(
    store: RunningStack, gateway: Gateway, tmp_path: Path, record_property
):
    neighbour, hostile = await gateway.new_site(), await gateway.new_site()
    folder = tmp_path / "files"
    folder.mkdir()
    for number in range(8):
        (folder / str(number)).write_bytes(bytes(2 * MEGABYTE))
    alone = min([await measure_backup(neighbour, folder) for _ in range(2)])
    urls = [gateway.token(hostile.id, node="hostile") for _ in range(20)]
    attack = [asyncio.create_task(hold_connection(url)) for url in urls for _ in range(10)]
    attack += [asyncio.create_task(send_wrong_files(url)) for url in urls[:2]]
    try:
        beside = min([await measure_backup(neighbour, folder) for _ in range(2)])
    finally:
        for task in attack:
            task.cancel()
        await asyncio.gather(*attack, return_exceptions=True)
    await neighbour.repository.check()
    figure = f"a backup beside a hostile node: {beside / alone:.2f} times as long ({alone:.1f} s alone)"
    record_property(FIGURE, figure)
    assert beside / alone < MOST_TIMES
