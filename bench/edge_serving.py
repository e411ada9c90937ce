"""The CPU cost of the edge for serving a file and a cached page."""

import asyncio
import struct
from statistics import median

import httpx

from bench.edge_pair import HOST, NODE, PAGE, EdgePair, run_edge_pair
from bench.load import Subject, cpu_ratios, measure_pairs
from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from stead.dev.supervised_program import LOOPBACK
from stead.protocol.edge_records import EnvironmentRecord, HostRecord


async def serve_static(_: Bench) -> Result:
    """Compares the whole edge, with its ledger, with `root` of a bare nginx."""
    async with run_edge_pair() as pair:
        measured = Subject("edge", f"{pair.url}/", pair.pid, host=HOST)
        base = Subject("bare nginx", f"{pair.bare_url}/", pair.bare_pid)
        await measure_pairs(measured, base)
    ratios = cpu_ratios(measured, base)
    return Result(median(ratios), 1.5, [f"ratio {spread(ratios)}", measured.summary(), base.summary()])


async def serve_cached(_: Bench) -> Result:
    """Compares a page of an application from the cache with the same bytes as a file."""
    async with run_edge_pair() as pair:
        server = await _start_application(pair)
        try:
            await _fill_cache(pair)
            measured = Subject("edge, cached page", f"{pair.url}/some/page", pair.pid, host="app.test")
            base = Subject("bare nginx, file", f"{pair.bare_url}/", pair.bare_pid)
            await measure_pairs(measured, base)
            proxy = Subject("bare nginx, proxy_cache", f"{pair.bare_url}/cached/page", pair.bare_pid)
            again = Subject("edge, cached page", f"{pair.url}/some/page", pair.pid, host="app.test")
            await measure_pairs(again, proxy, rounds=5)
        finally:
            server.close()
    ratios = cpu_ratios(measured, base)
    against_cache = cpu_ratios(again, proxy)
    details = [f"ratio {spread(ratios)}", measured.summary(), base.summary()]
    details += [f"against a bare proxy_cache: {spread(against_cache)}", proxy.summary()]
    return Result(median(ratios), 1.8, details)


async def _start_application(pair: EdgePair) -> asyncio.Server:
    home = pair.home / "environments" / "env_app"
    for directory in (home / "current", home / "run"):
        directory.mkdir(parents=True)
    (home / "current" / "index.php").write_text("<?php")
    server = await asyncio.start_unix_server(_respond, home / "run" / "fpm.sock")
    (home / "run" / "fpm.sock").chmod(0o666)
    record = EnvironmentRecord("site_app", NODE, runtime="cms", release="one", cache_ttl=3600)
    await pair.apply_record("environment", "env_app", record)
    await pair.apply_record("host", "app.test", HostRecord("env_app"))
    return server


async def _respond(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Sends the smallest FastCGI response that nginx accepts."""
    while True:
        _, kind, number, length, padding, _ = struct.unpack("!BBHHBB", await reader.readexactly(8))
        await reader.readexactly(length + padding)
        if kind == 5 and length == 0:
            break
    response = b"Content-Type: text/html\r\n\r\n" + PAGE
    for kind, content in ((6, response), (6, b""), (3, bytes(8))):
        writer.write(struct.pack("!BBHHBB", 1, kind, number, len(content), 0, 0) + content)
    await writer.drain()
    writer.close()


async def _fill_cache(pair: EdgePair) -> None:
    async with httpx.AsyncClient() as client:
        for _ in range(2):
            response = await client.get(
                f"http://{LOOPBACK}:{pair.port}/some/page", headers={"host": "app.test"}
            )
    if response.headers.get("x-cache") != "HIT":
        raise CouldNotRun(f"the page is not cached: {response.status_code} {dict(response.headers)}")
