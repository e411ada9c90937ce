"""The time from a change until a visitor sees it, at an edge with ten thousand sites.

It includes NATS, the feed and the store of the node, the memory of nginx, and the request of the visitor.
"""

import asyncio
import shutil
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import quantiles

from bench.results import CouldNotRun, Result
from bench.servers import Bench
from bench.visitor import Visitor
from stead.control.edge_feed.feed import EdgeFeed
from stead.control.engines.nats import Nats
from stead.control.engines.nats_streams import ensure_consumers, ensure_streams
from stead.dev.engines.nats import Nats as NatsServer
from stead.dev.engines.nginx import Nginx
from stead.dev.local_node import LOCAL_NODE, LOCAL_REGION
from stead.dev.programs import NodeAgent
from stead.dev.running_stack import RunningStack, run_stack
from stead.protocol.edge_records import EdgeRecord, EnvironmentRecord, HostRecord, environment_key, host_key
from stead.protocol.subjects import Program

GOAL_P50, GOAL_P99 = 2.0, 20.0
SITES, CHANGES, WARM_UP = 10_000, 300, 20
RELEASES = 10
SEEN_TIMEOUT, FILLED_TIMEOUT = 10.0, 120.0
POLL_INTERVAL = 0.0002
"""Between two requests of the visitor. Without it, the visitor would take the core from what is measured."""
CHANGE_INTERVAL = 0.01
"""Between two changes, so that each one finds all processes idle."""


class ManySites:
    """A node with nginx and NATS, without the rest of the control plane."""

    def __init__(self, stack: RunningStack, edges: EdgeFeed, sites: int) -> None:
        self.stack, self._edges = stack, edges
        self._releases = list(range(sites))

    @property
    def address(self) -> str:
        return self.stack[Nginx].address

    @property
    def pages(self) -> dict[str, bytes]:
        """The current page of every host."""
        return {host(number): page(release) for number, release in enumerate(self._releases)}

    async def fill(self) -> None:
        releases = self.stack.node_data / "releases"
        for number in range(RELEASES):
            await asyncio.to_thread(_write, releases / f"bench-{number}", page(number))
        records: dict[str, EdgeRecord | None] = {}
        for number, release in enumerate(self._releases):
            records[_environment_key(number)] = _environment(number, release)
            records[host_key(LOCAL_REGION, host(number))] = HostRecord(f"env_{number}")
        revision = await self._edges.put(records)
        await self._edges.wait_until_applied(LOCAL_REGION, [LOCAL_NODE], revision, within=FILLED_TIMEOUT)

    async def change(self, number: int, release: int) -> float:
        """Changes the release of a site. Returns the milliseconds until a visitor sees it."""
        visitor = Visitor(self.address)
        try:
            before = await asyncio.to_thread(visitor.get, host(number))
            seen = asyncio.create_task(
                asyncio.to_thread(_wait_until_seen, visitor, host(number), before.body, page(release))
            )
            await asyncio.sleep(CHANGE_INTERVAL)
            self._releases[number] = release
            started = time.perf_counter()
            await self._edges.put({_environment_key(number): _environment(number, release)})
            return 1000 * (await seen - started)
        finally:
            visitor.close()


def host(number: int) -> str:
    return f"site-{number}.example.com"


def page(release: int) -> bytes:
    return b"<h1>release %d</h1>" % (release % RELEASES)


async def measure(many: ManySites, changes: int) -> list[float]:
    """Changes sites one after the other, evenly distributed; each gets the release after its current one."""
    step = max(1, SITES // changes)
    return [
        await many.change(number := (turn * step) % SITES, number + 1 + turn * step // SITES)
        for turn in range(changes)
    ]


def percentiles(values: list[float]) -> tuple[float, float]:
    """The 50th and the 99th percentile."""
    hundredths = quantiles(values, n=100, method="inclusive")
    return hundredths[49], hundredths[98]


async def measure_changes(_: Bench) -> Result:
    async with many_sites(SITES) as many:
        for turn in range(WARM_UP):
            await many.change(SITES - 1, turn)
        took = await measure(many, CHANGES)
    p50, p99 = percentiles(took)
    details = [
        f"p50 {p50:.2f} ms (goal {GOAL_P50:g}), p99 {p99:.2f} ms",
        f"{min(took):.2f} to {max(took):.2f} ms in {len(took)} changes among {SITES} sites",
    ]
    return Result(p99, GOAL_P99, details)


@asynccontextmanager
async def many_sites(sites: int) -> AsyncIterator[ManySites]:
    scratch = _create_scratch()
    try:
        async with run_stack(scratch, [NatsServer, Nginx, NodeAgent]) as stack, _connect(stack) as nats:
            await ensure_streams(nats)
            await ensure_consumers(nats, LOCAL_NODE, LOCAL_REGION)
            many = ManySites(stack, EdgeFeed(nats), sites)
            await many.fill()
            yield many
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


def _create_scratch() -> Path:
    path = Path(tempfile.mkdtemp(prefix="stead-bench-edge-"))
    # The workers of nginx may run as another user, who must be able to enter the directory.
    path.chmod(0o711)
    return path


@asynccontextmanager
async def _connect(stack: RunningStack) -> AsyncIterator[Nats]:
    login = stack[NatsServer].login(Program.WORKER)
    nats = Nats(login.url, user=login.user, password=login.password, program=Program.WORKER)
    nats.start()
    try:
        await nats.ready()
        yield nats
    finally:
        await nats.stop()


def _wait_until_seen(visitor: Visitor, host: str, before: bytes, after: bytes) -> float:
    """Returns the time at which the first new page had arrived."""
    deadline = time.perf_counter() + SEEN_TIMEOUT
    while time.perf_counter() < deadline:
        found = visitor.get(host)
        at = time.perf_counter()
        if found.body == after:
            return at
        if found.body != before:
            raise CouldNotRun(f"{host} was answered {found.status} {found.reason}")
        time.sleep(POLL_INTERVAL)
    raise CouldNotRun(f"a change was not seen within {SEEN_TIMEOUT:g} s")


def _environment_key(number: int) -> str:
    return environment_key(LOCAL_REGION, f"env_{number}")


def _environment(number: int, release: int) -> EnvironmentRecord:
    return EnvironmentRecord(f"site_{number}", LOCAL_NODE, release=f"bench-{release % RELEASES}")


def _write(release: Path, content: bytes) -> None:
    release.mkdir(parents=True)
    release.chmod(0o755)
    (release / "index.html").write_bytes(content)
    (release / "index.html").chmod(0o644)
