"""How long after a change is said a visitor meets it, at an edge that serves ten thousand sites.

Everything between the two is in it: NATS, the node's feed and its store, nginx's memory, and the visitor's
own way there and back.
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
from stead.protocol.edge import Environment, Host, Record, environment_key, host_key
from stead.protocol.subjects import Program

GOAL_P50, GOAL_P99 = 2.0, 20.0
SITES, CHANGES, WARM_UP = 10_000, 300, 20
RELEASES = 10
SEEN_BOUND, FILLED_BOUND = 10.0, 120.0
POLL = 0.0002
"""Between two visits: who asks without a pause takes the core away from those who are to be measured."""
PAUSE = 0.01
"""Between two changes: each finds everybody at rest."""


class ManySites:
    """One node and its nginx, with NATS and without the rest of the control plane."""

    def __init__(self, stack: RunningStack, edges: EdgeFeed, sites: int) -> None:
        self.stack, self._edges = stack, edges
        self._releases = list(range(sites))

    @property
    def address(self) -> str:
        return self.stack[Nginx].address

    @property
    def pages(self) -> dict[str, bytes]:
        """What every host shows by now."""
        return {host(number): page(release) for number, release in enumerate(self._releases)}

    async def fill(self) -> None:
        releases = self.stack.node_data / "releases"
        for number in range(RELEASES):
            await asyncio.to_thread(_write, releases / f"bench-{number}", page(number))
        records: dict[str, Record | None] = {}
        for number, release in enumerate(self._releases):
            records[_environment_key(number)] = _shown(number, release)
            records[host_key(LOCAL_REGION, host(number))] = Host(f"env_{number}")
        revision = await self._edges.put(records)
        await self._edges.wait_until_applied(LOCAL_REGION, [LOCAL_NODE], revision, within=FILLED_BOUND)

    async def change(self, number: int, release: int) -> float:
        """Shows another release of this site; milliseconds until a visitor who keeps asking meets it."""
        visitor = Visitor(self.address)
        try:
            before = await asyncio.to_thread(visitor.get, host(number))
            seen = asyncio.create_task(
                asyncio.to_thread(_until_seen, visitor, host(number), before.body, page(release))
            )
            await asyncio.sleep(PAUSE)
            self._releases[number] = release
            began = time.perf_counter()
            await self._edges.put({_environment_key(number): _shown(number, release)})
            return 1000 * (await seen - began)
        finally:
            visitor.close()


def host(number: int) -> str:
    return f"site-{number}.example.com"


def page(release: int) -> bytes:
    return b"<h1>release %d</h1>" % (release % RELEASES)


async def measure(many: ManySites, changes: int) -> list[float]:
    """One after the other, all over the sites; each shows the release after its own."""
    step = max(1, SITES // changes)
    return [
        await many.change(number := (turn * step) % SITES, number + 1 + turn * step // SITES)
        for turn in range(changes)
    ]


def percentiles(values: list[float]) -> tuple[float, float]:
    """The fiftieth and the ninety-ninth."""
    hundredths = quantiles(values, n=100, method="inclusive")
    return hundredths[49], hundredths[98]


async def p99(_: Bench) -> Result:
    async with many_sites(SITES) as many:
        for turn in range(WARM_UP):
            await many.change(SITES - 1, turn)
        took = await measure(many, CHANGES)
    half, most = percentiles(took)
    details = [
        f"p50 {half:.2f} ms (goal {GOAL_P50:g}), p99 {most:.2f} ms",
        f"{min(took):.2f} to {max(took):.2f} ms in {len(took)} changes among {SITES} sites",
    ]
    return Result(most, GOAL_P99, details)


@asynccontextmanager
async def many_sites(sites: int) -> AsyncIterator[ManySites]:
    scratch = _scratch()
    try:
        async with run_stack(scratch, [NatsServer, Nginx, NodeAgent]) as stack, _connected(stack) as nats:
            await ensure_streams(nats)
            await ensure_consumers(nats, LOCAL_NODE, LOCAL_REGION)
            many = ManySites(stack, EdgeFeed(nats), sites)
            await many.fill()
            yield many
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


def _scratch() -> Path:
    made = Path(tempfile.mkdtemp(prefix="stead-bench-edge-"))
    # nginx's workers may be another user, who must be able to pass through.
    made.chmod(0o711)
    return made


@asynccontextmanager
async def _connected(stack: RunningStack) -> AsyncIterator[Nats]:
    login = stack[NatsServer].login(Program.WORKER)
    nats = Nats(login.url, user=login.user, password=login.password, program=Program.WORKER)
    nats.start()
    try:
        await nats.ready()
        yield nats
    finally:
        await nats.stop()


def _until_seen(visitor: Visitor, host: str, before: bytes, after: bytes) -> float:
    """When the answer had arrived that was the first to be the new one."""
    ends = time.perf_counter() + SEEN_BOUND
    while time.perf_counter() < ends:
        found = visitor.get(host)
        at = time.perf_counter()
        if found.body == after:
            return at
        if found.body != before:
            raise CouldNotRun(f"{host} was answered {found.status} {found.reason}")
        time.sleep(POLL)
    raise CouldNotRun(f"a change was not seen within {SEEN_BOUND:g} s")


def _environment_key(number: int) -> str:
    return environment_key(LOCAL_REGION, f"env_{number}")


def _shown(number: int, release: int) -> Environment:
    return Environment(f"site_{number}", LOCAL_NODE, release=f"bench-{release % RELEASES}")


def _write(release: Path, content: bytes) -> None:
    release.mkdir(parents=True)
    release.chmod(0o755)
    (release / "index.html").write_bytes(content)
    (release / "index.html").chmod(0o644)
