"""What the edge adds to serving a file, and to serving a page it has kept."""

import asyncio
import struct
from statistics import median

import httpx

from bench.edges import HOST, NODE, PAGE, Edges, edges
from bench.load import Subject, cpu_ratios, paired
from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from stead.dev.supervised_program import LOOPBACK
from stead.protocol.edge import Environment, Host


async def static(_: Bench) -> Result:
    """The whole edge with its ledger against `root`."""
    async with edges() as both:
        measured = Subject("edge", f"{both.url}/", both.pid, host=HOST)
        base = Subject("bare nginx", f"{both.bare_url}/", both.bare_pid)
        await paired(measured, base)
    ratios = cpu_ratios(measured, base)
    return Result(median(ratios), 1.5, [f"ratio {spread(ratios)}", measured.summary(), base.summary()])


async def cached(_: Bench) -> Result:
    """A page of an application from the cache against the same bytes as a file."""
    async with edges() as both:
        server = await _application(both)
        try:
            await _warm(both)
            measured = Subject("edge, cached page", f"{both.url}/some/page", both.pid, host="app.test")
            base = Subject("bare nginx, file", f"{both.bare_url}/", both.bare_pid)
            await paired(measured, base)
            proxy = Subject("bare nginx, proxy_cache", f"{both.bare_url}/cached/page", both.bare_pid)
            again = Subject("edge, cached page", f"{both.url}/some/page", both.pid, host="app.test")
            await paired(again, proxy, rounds=5)
        finally:
            server.close()
    ratios = cpu_ratios(measured, base)
    beside = cpu_ratios(again, proxy)
    details = [f"ratio {spread(ratios)}", measured.summary(), base.summary()]
    details += [f"against a bare proxy_cache: {spread(beside)}", proxy.summary()]
    return Result(median(ratios), 1.8, details)


async def _application(both: Edges) -> asyncio.Server:
    home = both.home / "environments" / "env_app"
    for directory in (home / "current", home / "run"):
        directory.mkdir(parents=True)
    (home / "current" / "index.php").write_text("<?php")
    server = await asyncio.start_unix_server(_answer, home / "run" / "fpm.sock")
    (home / "run" / "fpm.sock").chmod(0o666)
    record = Environment("site_app", NODE, runtime="cms", release="one", cache_ttl=3600)
    await both.tell("environment", "env_app", record)
    await both.tell("host", "app.test", Host("env_app"))
    return server


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The least FastCGI that nginx takes for an answer."""
    while True:
        _, kind, number, length, padding, _ = struct.unpack("!BBHHBB", await reader.readexactly(8))
        await reader.readexactly(length + padding)
        if kind == 5 and length == 0:
            break
    said = b"Content-Type: text/html\r\n\r\n" + PAGE
    for kind, content in ((6, said), (6, b""), (3, bytes(8))):
        writer.write(struct.pack("!BBHHBB", 1, kind, number, len(content), 0, 0) + content)
    await writer.drain()
    writer.close()


async def _warm(both: Edges) -> None:
    async with httpx.AsyncClient() as client:
        for _ in range(2):
            answer = await client.get(
                f"http://{LOOPBACK}:{both.port}/some/page", headers={"host": "app.test"}
            )
    if answer.headers.get("x-cache") != "HIT":
        raise CouldNotRun(f"the page is not cached: {answer.status_code} {dict(answer.headers)}")
