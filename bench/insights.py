"""The cost of inserting a chunk, and the time of each view with many rows.

`STEAD_BENCH_ROWS=5000000` makes the second smaller.
"""

import asyncio
import hashlib
import os
import random
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from statistics import median, quantiles
from typing import Any
from urllib.parse import unquote, urlsplit

import asyncpg
import psutil
import requests
import zstandard

from bench.results import Result, spread
from bench.servers import Bench
from stead.control.engines.clickhouse import MAX_RESULT_BYTES, Statement
from stead.control.engines.clickhouse import ClickHouse as Client
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.postgres import Database
from stead.control.insights import request_views, resource_views, trace_views, vital_views
from stead.control.insights.ingestion import Ingestion
from stead.control.insights.queries import Scope, Window, scope_of_sites
from stead.control.insights.rules import ReadableSites, object_name
from stead.control.insights.schema.requests import RequestFilter, RequestVolumeFilter
from stead.control.insights.schema.resources import ResourceFilter
from stead.control.insights.schema.traces import TraceFilter
from stead.control.insights.schema.vitals import PagesFilter, VitalFilter, WindowFilter
from stead.control.insights.store import Completeness
from stead.control.insights.tables import TABLES, create_tables
from stead.dev.engines.clickhouse import ClickHouse
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.running_stack import RunningStack, run_stack
from stead.node.telemetry.ledger_rows import LedgerLine, format_row
from stead.node.telemetry.spool import NewRows
from stead.protocol.subjects import Program
from stead.protocol.telemetry import REQUEST_COLUMNS
from stead.shared.clock import from_unix, wall_clock
from stead.shared.ids import new_id

INGEST_GOAL = 1.5
VIEW_GOAL_MS = 50.0
CHUNKS = 8
ROWS_PER_CHUNK, ROWS_PER_SMALL_CHUNK = 30_000, 300
"""What a busy node puts into a chunk (12 MB of its ledger), and a quiet one."""
ROWS = int(os.environ.get("STEAD_BENCH_ROWS", "50000000"))
SITES = 10_000
PER_INSERT = 2_500_000
ROUNDS = 30
FILL_SECONDS = 3600
NODE = "bench-node"
ENGINES = [SeaweedFS, ClickHouse]


@asynccontextmanager
async def _engines(bench: Bench) -> AsyncIterator[tuple[RunningStack, Client]]:
    async with run_stack(bench.scratch / "insights", ENGINES) as stack:
        client = Client(stack[ClickHouse].url(Program.WORKER, "stead"))
        try:
            await create_tables(client)
            yield stack, client
        finally:
            client.close()


async def compare_ingestion(bench: Bench) -> Result:
    """CPU time of this process: claim, fetch, check, decide, label and insert a chunk, and record that."""
    async with _engines(bench) as (stack, client):
        url = stack[ClickHouse].url(Program.WORKER, "stead")
        settings = stack.environment(Program.WORKER, ENGINES)
        objects = ObjectStore(
            settings["STEAD_S3_ENDPOINT"],
            settings["STEAD_S3_ACCESS_KEY"],
            settings["STEAD_S3_SECRET_KEY"],
            "insights",
        )
        await objects.ensure_bucket()
        database = Database(bench.database_url, clock=wall_clock, size=4)
        connection: Any = await asyncpg.connect(bench.database_url)
        try:
            environment = await _create_environment(connection)
            ours, bare = [], []
            for turn in range(4):
                chunks = [_make_chunk(environment, ROWS_PER_CHUNK) for _ in range(CHUNKS)]
                ours.append(await _ingest(connection, database, objects, client, chunks))
                bare.append(await asyncio.to_thread(_insert_bare, url, chunks))
                if turn == 0:
                    ours, bare = [], []
            small = [_make_chunk(environment, ROWS_PER_SMALL_CHUNK) for _ in range(CHUNKS)]
            small_cost = await _ingest(connection, database, objects, client, small)
        finally:
            await connection.close()
            await database.close()
    ratios = [cost / base for cost, base in zip(ours, bare, strict=True)]
    rows = CHUNKS * ROWS_PER_CHUNK
    return Result(
        median(ratios),
        INGEST_GOAL,
        [
            f"ratio {spread(ratios)}",
            f"worker: CPU {median(ours) / rows * 1e6:.2f} µs a row",
            f"bare: CPU {median(bare) / rows * 1e6:.2f} µs a row",
            f"worker: CPU {small_cost / CHUNKS * 1e3:.1f} ms for a chunk of {ROWS_PER_SMALL_CHUNK} rows,"
            f" {median(ours) / CHUNKS * 1e3:.1f} ms for one of {ROWS_PER_CHUNK:,}",
        ],
    )


async def _create_environment(connection: Any) -> str:
    account, site, environment = new_id("client"), new_id("site"), new_id("env")
    await connection.execute(
        "insert into accounts (id, email, name, password_hash, plan, created_at)"
        " values ($1, $1 || '@example.com', 'x', 'x', 'unlimited', now())",
        account,
    )
    await connection.execute(
        "insert into sites (id, account_id, mode, slug, domain, profile, runtime, region, status, created_at)"
        " values ($1, $2, 'live', $1, $1 || '.example', 'static', 'static', 'us-east', 'running', now())",
        *(site, account),
    )
    await connection.execute(
        "insert into environments (id, site_id, type, subdomain, status, created_at)"
        " values ($1, $2, 'production', $1, 'running', now())",
        *(environment, site),
    )
    await connection.execute(
        "insert into environment_placements values ($1, $2, now() - interval '1 day', null)",
        *(environment, NODE),
    )
    return environment


def _make_chunk(environment: str, count: int) -> bytes:
    rows = NewRows("requests")
    for number in range(count):
        moment = round(time.time() - 600 * random.random(), 3)  # noqa: S311
        visit = LedgerLine(
            moment, environment, "192.0.2.0", 200, 0.012, host="www.example.com", method="GET",
            path=f"/page/{number % 500}", bytes_in=600, bytes_out=random.randrange(50_000),  # noqa: S311
            trace=f"{random.getrandbits(128):032x}", tls="TLSv1.3", agent="Mozilla/5.0 Firefox/140.0",
        )  # fmt: skip
        rows.add(environment, moment, format_row(visit))
    return rows.compress()


async def _ingest(
    connection: Any, database: Database, objects: ObjectStore, client: Client, chunks: list[bytes]
) -> float:
    for content in chunks:
        name = new_id("chunk")
        await objects.put(object_name(NODE, name), content)
        await connection.execute(
            "insert into telemetry_chunks (node_id, id, stream, status, size, sha256, rows, first_at,"
            " last_at, until, offered_at, stored_at) values ($1, $2, 'requests', 'stored', $3, $4, $5,"
            " now() - interval '20 minutes', now(), now(), now(), now())",
            *(NODE, name, len(content), hashlib.sha256(content).digest(), ROWS_PER_CHUNK),
        )
    ingestion, before = Ingestion(database, objects, client), time.process_time()
    while await ingestion.insert_next():
        pass
    return time.process_time() - before


def _insert_bare(url: str, chunks: list[bytes]) -> float:
    """Decompress a chunk, and post it as it is: with rows that name their site already."""
    labelled = []
    for content in chunks:
        rows = zstandard.decompress(content.partition(b"\n")[2])
        lines = (b"site_bare\t30\t" + line for line in rows.splitlines(keepends=True))
        labelled.append(zstandard.compress(b"".join(lines)))
    query = (
        f"insert into requests (site_id, keep_days, env_id, {', '.join(REQUEST_COLUMNS)}) format TabSeparated"
    )
    session, address = _connect(url)
    before = time.process_time()
    for content in labelled:
        plain = zstandard.ZstdDecompressor().decompress(content, max_output_size=1 << 28)
        values = {"query": query, "database": "stead", "date_time_input_format": "basic"}
        session.post(address, params=values, data=plain, timeout=60).raise_for_status()
    return time.process_time() - before


_FILL = """
insert into requests (site_id, env_id, keep_days, ts, release, host, method, path, status, bytes_in,
  bytes_out, duration_ms, first_byte_ms, cache, firewall, trace_id, network, tls, agent, device, reason)
select concat('site_', leftPad(toString(rank), 26, '0')), concat('env_', leftPad(toString(rank), 26, '0')),
  30, now64(3) - toIntervalMillisecond(rand64(1) % (30 * 86400000)), 'dep', 'www.example.com', 'GET',
  concat('/page/', toString(rand(2) % 2000)), if(rand(3) % 100 = 0, 500, 200), 600, rand(4) % 50000,
  rand(5) % 400, rand(6) % 200, if(rand(7) % 3 = 0, 'MISS', 'HIT'), '', hex(MD5(toString(number))),
  '192.0.2.0', 'TLSv1.3', 'Firefox', 'desktop', ''
from (select number, toUInt32(exp(randCanonical(8) * log({sites}))) as rank
  from numbers({first}, {count}))
"""
_FILL_VITALS = """
insert into vitals (site_id, env_id, keep_days, ts, release, path, device, metric, value)
select concat('site_', leftPad(toString(rank), 26, '0')), concat('env_', leftPad(toString(rank), 26, '0')),
  30, now64(3) - toIntervalMillisecond(rand64(1) % (30 * 86400000)), '',
  concat('/page/', toString(rand(2) % 2000)), 'desktop', 'LCP', 1000 + rand(3) % 3000
from (select number, toUInt32(exp(randCanonical(8) * log({sites}))) as rank
  from numbers({first}, {count}))
"""
_FILL_SPANS = """
insert into spans (site_id, env_id, keep_days, ts, trace_id, span_id, parent_id, service, name, duration_us,
  status, status_code)
select concat('site_', leftPad(toString(rank), 26, '0')), concat('env_', leftPad(toString(rank), 26, '0')),
  30, now64(3) - toIntervalMillisecond(rand64(1) % (30 * 86400000)), hex(MD5(toString(number))),
  '00f067aa0ba902b7', '', 'edge', concat('/page/', toString(rand(2) % 2000)), rand(3) % 400000, 'ok', 200
from (select number, toUInt32(exp(randCanonical(8) * log({sites}))) as rank
  from numbers({first}, {count}))
"""
_FILL_RESOURCES = """
insert into resources (site_id, env_id, keep_days, ts, container, cpu_ms, elapsed_ms, memory_bytes,
  memory_limit)
select concat('site_', leftPad(toString(rank), 26, '0')), concat('env_', leftPad(toString(rank), 26, '0')),
  15, now64(3) - toIntervalSecond(30 * number), container, rand(1) % 30000, 30000, rand(2) % 268435456,
  268435456
from (select number, arrayJoin([{ranks}]) as rank, arrayJoin(['php', 'redis']) as container
  from numbers(15 * 2880))
"""
_LARGE_BLOCKS = f" settings min_insert_block_size_rows = {PER_INSERT}, min_insert_block_size_bytes = 0"
MEASURED = {"large": 1, "median": SITES // 100, "tiny": SITES - 1}
"""The rank of each site that is measured, by its number of requests."""

View = Callable[[Client, Scope, Window], Awaitable[object]]
_KNOWN = Completeness(None, [])
VIEWS: dict[str, View] = {
    "requests": lambda c, s, w: request_views.read_requests(c, s, w, RequestFilter(hours=720), _KNOWN),
    "requests/volume": lambda c, s, w: request_views.read_volume(
        c, s, w, RequestVolumeFilter(hours=720), _KNOWN
    ),
    "resources": lambda c, s, w: resource_views.read_resources(c, s, w, ResourceFilter(hours=360), _KNOWN),
    "summary": lambda c, s, w: vital_views.read_summary(c, s, w, WindowFilter(), _KNOWN),
    "timeseries": lambda c, s, w: vital_views.read_timeseries(c, s, w, VitalFilter(), _KNOWN),
    "pages": lambda c, s, w: vital_views.read_pages(c, s, w, PagesFilter(), _KNOWN),
    "traces": lambda c, s, w: trace_views.read_traces(c, s, w, TraceFilter(hours=720), _KNOWN),
}


async def measure_views(bench: Bench) -> Result:
    """The largest site has about a tenth of all rows."""
    details, worst = [], 0.0
    async with _engines(bench) as (stack, client):
        url = stack[ClickHouse].url(Program.WORKER, "stead")
        await asyncio.to_thread(_fill, url)
        size, server = await _bytes_of(client), _find_server()
        now = time.time()
        window = Window(from_unix(now - 30 * 86_400), datetime.fromtimestamp(now, UTC))
        for name, rank in MEASURED.items():
            number = f"{rank:026d}"
            scope = scope_of_sites(ReadableSites(((f"site_{number}", f"env_{number}"),), truncated=False))
            for view, read in VIEWS.items():
                before = _cpu_seconds(server)
                times = [await _time(read, client, scope, window) for _ in range(ROUNDS)][1:]
                used = (_cpu_seconds(server) - before) / ROUNDS * 1e3
                p99, p50 = quantiles(times, n=100)[98], median(times)
                bare = await asyncio.to_thread(
                    _time_bare, url, await _statements(read, client, scope, window)
                )
                details.append(
                    f"{name} site, {view}: p50 {p50:.1f} ms, p99 {p99:.1f} ms, {p50 / bare:.2f} × bare SQL,"
                    f" {used:.1f} ms of CPU time of the server"
                )
                # It takes long, so each is shown when it is known.
                print(details[-1], file=sys.stderr, flush=True)
                if name == "large":
                    worst = max(worst, median(times))
    details.append(f"{ROWS:,} rows over {SITES:,} sites, {size / ROWS:.1f} bytes a row in `requests`")
    return Result(worst, VIEW_GOAL_MS, details)


class _Listening(Client):
    """Remembers what it is asked."""

    def __init__(self, client: Client) -> None:
        self.__dict__.update(client.__dict__)
        self.asked: list[Statement] = []

    async def read_up_to(
        self,
        row: type[Any],
        statement: Statement,
        max_bytes: int = MAX_RESULT_BYTES,
        places: asyncio.Semaphore | None = None,
    ) -> tuple[list[Any], bool]:
        self.asked.append(statement)
        return await super().read_up_to(row, statement, max_bytes, places)


async def _statements(read: View, client: Client, scope: Scope, window: Window) -> list[Statement]:
    listening = _Listening(client)
    await read(listening, scope, window)
    return listening.asked


def _time_bare(url: str, statements: list[Statement]) -> float:
    """The median time of the same SQL, posted by a program that does nothing else."""
    session, address = _connect(url)
    times = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for each in statements:
            form = {"query": each.text} | {f"param_{name}": value for name, value in each.parameters.items()}
            session.post(
                address,
                params={**each.settings, "default_format": "JSONCompactEachRow", "database": "stead"},
                files={name: (None, text) for name, text in form.items()},
                timeout=60,
            ).raise_for_status()
        times.append((time.perf_counter() - began) * 1000)
    return median(times[1:])


async def _bytes_of(client: Client) -> float:
    statement = Statement(
        "select sum(bytes_on_disk) from system.parts where active and table = 'requests'"
        " and database = currentDatabase()",
        {},
        {},
    )
    [[size]] = await client.read(list[float], statement)
    return float(size)


def _fill(url: str) -> None:
    """Rows arrive within minutes, not within a month, so they are merged here as they would have been."""
    statements = [_FILL_RESOURCES.format(ranks=", ".join(map(str, MEASURED.values())))]
    for statement, rows in ((_FILL, ROWS), (_FILL_VITALS, ROWS // 20), (_FILL_SPANS, ROWS // 100)):
        for first in range(0, rows, PER_INSERT):
            count = min(PER_INSERT, rows - first)
            statements.append(statement.format(sites=SITES, first=first, count=count) + _LARGE_BLOCKS)
    statements += [f"optimize table {table} final" for table in TABLES]
    session, address = _connect(url)
    for statement in statements:
        query = {"query": statement, "database": "stead"}
        session.post(address, params=query, timeout=FILL_SECONDS).raise_for_status()


def _connect(url: str) -> tuple[requests.Session, str]:
    """What the bare form of something uses, and the address."""
    parts, session = urlsplit(url), requests.Session()
    session.headers["X-ClickHouse-User"] = parts.username or ""
    session.headers["X-ClickHouse-Key"] = unquote(parts.password or "")
    return session, f"http://{parts.hostname}:{parts.port}/"


def _find_server() -> psutil.Process:
    [found] = [
        process
        for process in psutil.Process().children(recursive=True)
        if "stead.dev.chdb_server" in process.cmdline()
    ]
    return found


def _cpu_seconds(server: psutil.Process) -> float:
    """Also of threads that have ended: the engine starts new ones for its queries."""
    times = server.cpu_times()
    return float(times.user + times.system)


async def _time(read: View, client: Client, scope: Scope, window: Window) -> float:
    began = time.perf_counter()
    await read(client, scope, window)
    return (time.perf_counter() - began) * 1000
