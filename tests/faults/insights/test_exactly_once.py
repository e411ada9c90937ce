"""Shippers, workers and ClickHouse are killed, chunks are inserted again and in another order, and the object
store is down: every line of every ledger is counted exactly once.

STEAD_LEDGER_ROWS=5000000 makes it a long test.
"""

import asyncio
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from stead.control.app import ControlPlane
from stead.control.engines.migrations import migrate
from stead.control.insights import queries
from stead.control.insights.queries import Query, Scope, Window
from stead.control.insights.tables import create_tables
from stead.control.settings import from_environment, object_store_of
from stead.dev.engines.clickhouse import ClickHouse
from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.running_stack import RunningStack, run_stack
from stead.dev.supervised_program import clean_environment
from stead.protocol.subjects import Program
from tests.client import Client
from tests.conftest import UNLIMITED
from tests.control.insights.recorded import ledger_line
from tests.control.served_site import create_served_site
from tests.enrolled_nodes import record_node
from tests.people import make_person

ROWS = int(os.environ.get("STEAD_LEDGER_ROWS", "24000"))
NODES = ("ledger-1", "ledger-2", "ledger-3")
IS_LONG = ROWS >= 1_000_000
KILLS = max(30, ROWS // 50_000)
KILL_SECONDS = 5.0 if IS_LONG else 1.0
"""From one fault to the next."""
OUTAGE_KILLS = 12 if IS_LONG else 5
"""For so many of these times the object store is down: a minute in the long test."""
REPEATED = 0.04 if IS_LONG else 0.2
"""How many of the chunks that were inserted are inserted again, several times."""
ENGINES = [Postgres, Redis, Nats, SeaweedFS, ClickHouse]
DRAIN_SECONDS = max(240.0, ROWS / 2000)
PROGRAM = (sys.executable, "-m", "tests.faults.insights.programs")


class Killable:
    """A process that is started again whenever it is killed."""

    def __init__(self, name: str, environment: dict[str, str], log: Path) -> None:
        self._name, self._environment, self._log = name, environment, log
        self.start()

    def start(self) -> None:
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*PROGRAM, self._name], env=clean_environment(self._environment), stdout=log, stderr=log
            )

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


class Ledgers:
    """Writes the ledgers of all nodes like nginx, rotates them, and knows what it has written."""

    def __init__(self, homes: dict[str, Path], environments: dict[str, list[str]]) -> None:
        self._homes, self._environments = homes, environments
        self.counts: Counter[tuple[str, int]] = Counter()
        self.sums: Counter[tuple[str, int]] = Counter()
        self.written = 0

    def write(self, node: str, count: int) -> None:
        ledger = self._homes[node] / "run" / "ledger.json"
        lines, start = [], time.time() - 1800
        for _ in range(count):
            environment = random.choice(self._environments[node])  # noqa: S311
            moment, size = round(start + random.random() * 1800, 3), random.randrange(1, 10_000)  # noqa: S311
            trace = f"{random.getrandbits(128):032x}"
            lines.append(ledger_line(environment, ts=moment, bytes_out=size, trace=trace) + b"\n")
            minute = int(moment) // 60 * 60
            self.counts[environment, minute] += 1
            self.sums[environment, minute] += size
        with ledger.open("ab") as file:
            file.write(b"".join(lines))
        self.written += count

    def rotate(self, node: str) -> None:
        ledger = self._homes[node] / "run" / "ledger.json"
        if ledger.exists():
            ledger.rename(ledger.with_name(f"ledger.{time.time_ns()}.json"))


@asynccontextmanager
async def killable(programs: list[Killable]) -> AsyncIterator[None]:
    try:
        yield
    finally:
        for program in programs:
            program.kill()


@pytest.fixture(scope="module")
async def stack() -> AsyncIterator[RunningStack]:
    with tempfile.TemporaryDirectory(prefix="stead-ledger-") as data:
        Path(data).chmod(0o711)  # noqa: ASYNC240 - before anything runs
        async with run_stack(Path(data), ENGINES, durable=True) as stack:
            yield stack


async def read_minutes(
    plane: ControlPlane, table: str, scope: Scope
) -> tuple[Counter[tuple[str, int]], Counter[tuple[str, int]]]:
    count = "count()" if table == "requests" else "sum(requests)"
    query = Query(
        table,  # type: ignore[arg-type] # one of three tables
        f"env_id, toUnixTimestamp(toStartOfMinute(ts)) as minute, {count}, sum(bytes_out)",
        group_by="env_id, minute",
        limit=1_000_000,
    )
    now = plane.database.now()
    rows = await query.run(plane.clickhouse, tuple[str, int, int, int], scope, Window.of_hours(now, 200))
    counts = Counter({(env, minute): found for env, minute, found, _ in rows})
    return counts, Counter({(env, minute): size for env, minute, _, size in rows})


@pytest.mark.timeout(max(900, ROWS // 500))
async def test_every_line_is_counted_once_whatever_is_killed(
    stack: RunningStack, tmp_path: Path, record_property
) -> None:
    settings = from_environment(stack.environment(Program.WORKER, ENGINES))
    await asyncio.to_thread(migrate, settings.database_url)
    await object_store_of(settings).ensure_bucket()
    plane = ControlPlane(settings)
    async with plane.running():
        await create_tables(plane.clickhouse)
        scope, environments = await populate(plane)
        homes, programs = {}, []
        for node in NODES:
            await stack.add_node(node)
            homes[node] = tmp_path / node
            (homes[node] / "run").mkdir(parents=True)
            variables = stack.node_environment(node, homes[node]) | {
                "STEAD_TELEMETRY_SECONDS": "0.3",
                "STEAD_EDGE_ADDRESS": "127.0.0.1:1",
            }
            programs.append(Killable("shipper", variables, tmp_path / f"{node}.log"))
        for number in range(2):
            variables = stack.environment(Program.WORKER, ENGINES)
            programs.append(Killable("worker", variables, tmp_path / f"worker-{number}.log"))
        ledgers, began = Ledgers(homes, environments), time.monotonic()
        async with killable(programs):
            kills = await break_everything(stack, plane, programs, ledgers)
            await wait_until_complete(plane, ledgers, scope)
        seconds = time.monotonic() - began
    record_property(
        "figure", f"exactly once: {ledgers.written:,} rows, {kills} kills, {seconds:.0f} s until complete"
    )


async def populate(plane: ControlPlane) -> tuple[Scope, dict[str, list[str]]]:
    """Each node has three sites."""
    anonymous = Client(transport=httpx.ASGITransport(plane), base_url="http://stead.test")
    async with plane.database.transaction() as tx:
        await tx.run(UNLIMITED)
        for node in NODES:
            await record_node(tx, node)
    environments: dict[str, list[str]] = {node: [] for node in NODES}
    sites = []
    for node in NODES:
        for _ in range(3):
            site = await create_served_site(plane, await make_person(plane, anonymous))
            await site.driver.execute("update environments set node_id = $2 where id = $1", site.env, node)
            await site.driver.execute(
                "update environment_placements set since = now() - interval '1 day' where env_id = $1"
                " and node_id = $2",
                *(site.env, node),
            )
            environments[node].append(site.env)
            sites.append(site)
    every = [env for found in environments.values() for env in found]
    return Scope(queries._KEY, [site.id for site in sites], every), environments


async def break_everything(
    stack: RunningStack, plane: ControlPlane, programs: list[Killable], ledgers: Ledgers
) -> int:
    """Write all lines, and break something else again and again."""
    for kills in range(1, KILLS + 1):
        began = time.monotonic()
        await asyncio.to_thread(ledgers.write, random.choice(NODES), ROWS // KILLS)  # noqa: S311
        match kills % 5:
            case 0:
                await stack.kill(ClickHouse)
                await stack.start(ClickHouse)
            case 1:
                ledgers.rotate(random.choice(NODES))  # noqa: S311
                await repeat_inserts(plane)
            case _:
                program = random.choice(programs)  # noqa: S311
                program.kill()
                program.start()
        if kills == KILLS // 3:
            await stack.kill(SeaweedFS)
        elif kills == KILLS // 3 + OUTAGE_KILLS:
            await stack.start(SeaweedFS)
        # The programs get a little further each time.
        pause = KILL_SECONDS * (0.5 + random.random())  # noqa: S311
        await asyncio.sleep(max(0.0, began + pause - time.monotonic()))
    return KILLS


async def repeat_inserts(plane: ControlPlane) -> None:
    """As if workers had died between the insert and its record. The oldest ones come last."""
    async with plane.database.transaction() as tx:
        await tx.run(
            "update telemetry_chunks set status = 'stored', claimed_until = null, ended_at = null,"
            " stored_at = now() - random() * interval '1 hour'"
            " where status = 'done' and random() < $1",
            REPEATED,
        )


async def wait_until_complete(plane: ControlPlane, ledgers: Ledgers, scope: Scope) -> None:
    until = time.monotonic() + DRAIN_SECONDS
    while True:
        counts, sums = await read_minutes(plane, "requests", scope)
        if counts == ledgers.counts and await count_waiting(plane) == 0:
            break
        assert counts.total() <= ledgers.written, "rows were counted twice"
        if time.monotonic() > until:
            pytest.fail(
                f"{counts.total()} of {ledgers.written} rows, {await count_waiting(plane)} chunks wait"
            )
        await asyncio.sleep(0.5)
    assert sums == ledgers.sums
    assert await read_minutes(plane, "request_minutes", scope) == (ledgers.counts, ledgers.sums)
    of_hours: Counter[tuple[str, int]] = Counter()
    for (environment, minute), count in ledgers.counts.items():
        of_hours[environment, minute // 3600 * 3600] += count
    assert (await read_minutes(plane, "request_hours", scope))[0] == of_hours


async def count_waiting(plane: ControlPlane) -> int:
    async with plane.database.reading() as tx:
        return int(await tx.value("select count(*) from telemetry_chunks where status <> 'done'"))
