"""How much longer the name server takes to answer, and to take a zone, when it has many zones."""

import asyncio
import os
import random
import sqlite3
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from statistics import median

import dns.asyncquery
import dns.message

from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from stead.control.engines.powerdns import PowerDns, RecordSet
from stead.dev.engines.powerdns import PowerDns as PowerDnsEngine
from stead.dev.running_stack import run_stack

FEW, MANY = 100, int(os.environ.get("STEAD_BENCH_ZONES", "100000"))
LOOK_UPS, PUBLISHED = 300, 20
NAMESERVERS = ("ns1.platform.example", "ns2.platform.example")
SOA = "ns1.platform.example. hostmaster.platform.example. 1 10800 3600 604800 3600"


async def compare_sizes(_: Bench) -> Result:
    with tempfile.TemporaryDirectory() as home:
        async with run_stack(Path(home), [PowerDnsEngine]) as stack:
            engine, details = stack[PowerDnsEngine], []
            medians = []
            for size in (FEW, MANY):
                await asyncio.to_thread(_fill, engine.instance.home / "zones.sqlite3", size)
                await _wait_for(engine, size - 1)
                answered = await _time(lambda size=size: _ask(engine, random.randrange(size)), LOOK_UPS)  # type: ignore[misc] # noqa: S311
                names = iter([f"new{number}-{size}.example.com" for number in range(PUBLISHED)])
                published = await _time(lambda names=names: _publish(engine, next(names)), PUBLISHED)  # type: ignore[misc]
                medians.append(median(answered))
                details.append(f"{size} zones: an answer {spread(answered)} ms")
                details.append(f"{size} zones: a new signed zone {spread(published)} ms")
    return Result(medians[1] / medians[0], 1.5, details)


def _fill(database: Path, size: int) -> None:
    """Unsigned zones: an answer is looked up in the same way, and a signature depends on one zone only."""
    with closing(sqlite3.connect(database, timeout=60)) as connection, connection:
        (have,) = connection.execute("select count(*) from domains where name like 'zone%'").fetchone()
        first = 1 + connection.execute("select coalesce(max(id), 0) from domains").fetchone()[0]
        rows = [(first + number, f"zone{number}.example.com") for number in range(have, size)]
        connection.executemany("insert into domains (id, name, type) values (?, ?, 'NATIVE')", rows)
        records = (
            "insert into records (domain_id, name, type, content, ttl, auth) values (?, ?, ?, ?, 300, 1)"
        )
        for type_, content in (("SOA", SOA), ("NS", NAMESERVERS[0]), ("A", "192.0.2.1")):
            connection.executemany(records, [(id_, name, type_, content) for id_, name in rows])


async def _ask(engine: PowerDnsEngine, number: int) -> None:
    query = dns.message.make_query(f"zone{number}.example.com.", "A")
    answer = await dns.asyncquery.udp(query, "127.0.0.1", port=engine.dns_port, timeout=5)
    if not answer.answer:
        raise CouldNotRun(f"zone {number} is not answered")


async def _wait_for(engine: PowerDnsEngine, number: int) -> None:
    async with asyncio.timeout(120):
        while True:
            try:
                return await _ask(engine, number)
            except CouldNotRun:
                await asyncio.sleep(0.2)


async def _publish(engine: PowerDnsEngine, zone: str) -> None:
    records = [RecordSet(f"{zone}.", "A", 300, ("192.0.2.1",))]
    await PowerDns(engine.url, engine.key).replace_zone(zone, records, NAMESERVERS)


async def _time(work: Callable[[], Awaitable[None]], rounds: int) -> list[float]:
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        await work()
        times.append((time.perf_counter() - began) * 1000)
    return times
