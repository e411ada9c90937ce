"""WordPress sites on a node: memory while idle, the time to wake, and many sites on one machine.

The node is real: edge, agent, containers and MariaDB. `STEAD_BENCH_SITES` makes the benchmarks smaller.
"""

import asyncio
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from unittest.mock import patch

import httpx

from bench.results import CouldNotRun, Result, spread
from bench.servers import Bench
from stead.mariadb.connection import connect
from stead.node.containers import cgroups
from stead.node.drivers.driver import Assignment
from stead.node.hosting.wake_budget import Needs, WakeBudget, available_mb
from stead.node.images.image_store import ImageStore
from stead.node.images.recipe import ImageUnavailable
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress import plan as plans
from stead.node.wordpress import runtime
from stead.node.wordpress.compiled_core import compiled_path
from stead.node.wordpress.plan import WordPressPlan
from stead.protocol.work.hosting import WordPressSettings
from tests.node.harness import until
from tests.node.wordpress.wordpress_node import Site, WordPressNode, start_wordpress_node
from tests.percentiles import p99

IDLE_SITES, WAKES, DENSE_SITES = 20, 30, 300
BUSY_SITES, BUSY_SECONDS = 10, 30.0
MADE_AT_ONCE = 4
COMPILE_SECONDS = 300.0
AWAKE_MB = 3000
"""The memory of the sites that are awake together, when there are many."""
MB = 1 << 20


async def measure_idle(_: Bench) -> Result:
    """The memory of one site, awake and asleep."""
    require_images()
    async with start_wordpress_node() as node:
        first = await node.create()
        await _until_compiled(first)
        await first.hosted.sleep()
        await _visit(first)
        await first.hosted.sleep()
        before = _own_memory()
        sites = await _create(node, first, _size(IDLE_SITES))
        for site in sites:
            await _visit(site)
        awake = []
        for site in sites:
            await _until_quiet(site)
            awake.append(_container_memory(site) / MB)
            await site.hosted.sleep()
        asleep = (_own_memory() - before) / MB / len(sites)
    details = [
        f"awake and idle: {spread(awake)} MB, goal 45",
        f"asleep: {asleep:.2f} MB of the agent for each of {len(sites)} sites, goal 2",
    ]
    return Result(median(awake), 45, details)


async def measure_wakes(_: Bench) -> Result:
    """The time from a visitor's request to a sleeping site until the end of the answer."""
    require_images()
    woken, plain, awake = [], [], []
    async with start_wordpress_node() as node:
        site = await node.create()
        await _until_compiled(site)
        for _round in range(_size(WAKES)):
            await site.hosted.sleep()
            woken.append(await _visit(site))
            awake.append(await _visit(site))
            await site.hosted.sleep()
            with patch.object(plans, "compiled_path", lambda *_: Path("/nonexistent")):
                plain.append(await _visit(site))
    details = [
        f"{spread(woken)} ms; p99 {p99(woken):.0f} ms",
        f"without the compiled files of WordPress: {spread(plain)} ms",
        f"the same page while the site is awake: {spread(awake)} ms",
    ]
    return Result(median(woken), 500, details)


async def measure_density(_: Bench) -> Result:
    """How many requests are refused while ten sites are busy and all others are visited now and then."""
    require_images()
    async with start_wordpress_node() as node:
        node.hosts.budget = WakeBudget(Needs(AWAKE_MB, 1400))
        first = await node.create()
        await _until_compiled(first)
        await first.hosted.sleep()
        free, began = available_mb(), time.monotonic()
        sites = await _create(node, first, _size(DENSE_SITES))
        created = time.monotonic() - began
        asleep = free - available_mb()
        busy, rare = sites[:BUSY_SITES], sites[BUSY_SITES:]
        times: list[float] = []
        rare_times: list[float] = []
        refused: list[int] = []
        ends = time.monotonic() + BUSY_SECONDS
        visits = [asyncio.create_task(_keep_visiting([site], ends, times, refused)) for site in busy]
        visits.append(asyncio.create_task(_keep_visiting(rare, ends, rare_times, refused)))
        await asyncio.gather(*visits)
        awake = sum(site.hosted.state == "awake" for site in sites)
        used = free - available_mb()
    details = [
        f"{len(sites)} sites, {len(busy)} busy: {len(times)} pages, p50 {median(times):.0f} ms,"
        f" p99 {p99(times):.0f} ms",
        f"{len(rare_times)} visits of the others, most of them asleep: p50 {median(rare_times):.0f} ms,"
        f" p99 {p99(rare_times):.0f} ms",
        f"memory: {asleep} MB while all sleep, {used} MB at the end with {awake} awake",
        f"creating the sites took {created:.0f} s",
    ]
    return Result(len(refused), 0, details)


def require_images() -> None:
    try:
        for name in ("php8.2", "wordpress"):
            ImageStore().find(name)
    except ImageUnavailable as error:
        raise CouldNotRun(str(error)) from None


def _size(usual: int) -> int:
    return int(os.environ.get("STEAD_BENCH_SITES") or usual)


async def _create(node: WordPressNode, first: Site, count: int) -> list[Site]:
    """Sites that sleep. Their tables are copies of those of the first one, which is much faster than an
    installation; everything else is what a node does for a new site."""
    slots = asyncio.Semaphore(MADE_AT_ONCE)

    async def one(number: int) -> Site:
        async with slots:
            site = await node.create(tenant=f"acct_{number % 50}")
            await site.hosted.sleep()
            return site

    with _tables_copied_from(first):
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(number)) for number in range(count)]
    return [task.result() for task in tasks]


@contextmanager
def _tables_copied_from(first: Site) -> Iterator[None]:
    tables = [str(name) for (name,) in first.query("SHOW TABLES IN {schema}")]

    def copy(target: str) -> None:
        with connect(first.node.databases.databases.socket) as connection:
            for table in tables:
                new, old = f"`{target}`.`{table}`", f"`{first.environment}`.`{table}`"
                connection.execute(f"CREATE TABLE {new} LIKE {old}")
                connection.execute(f"INSERT INTO {new} SELECT * FROM {old}")  # noqa: S608

    async def install(plan: WordPressPlan, _: object, __: WordPressSettings, ___: Assignment) -> None:
        await run_in_thread(copy, plan.database)

    with patch.object(runtime, "install", install):
        yield


async def _until_compiled(site: Site) -> None:
    """The agent compiles WordPress once for each machine, in the background."""
    plan = site.hosted.plan
    assert isinstance(plan, WordPressPlan)
    place = compiled_path(plan.image, plan.core)

    async def is_compiled() -> bool | None:
        return place.is_dir() or None

    await until(is_compiled, COMPILE_SECONDS)


async def _visit(site: Site) -> float:
    """Milliseconds for a page that is not in the cache."""
    began = time.monotonic()
    page = await site.get(f"/?nocache={time.monotonic_ns()}")
    if page.status_code != 200:
        raise CouldNotRun(f"a page was answered {page.status_code}")
    return (time.monotonic() - began) * 1000


async def _keep_visiting(sites: list[Site], ends: float, times: list[float], refused: list[int]) -> None:
    while time.monotonic() < ends:
        for site in sites:
            began = time.monotonic()
            if began >= ends:
                return
            try:
                status = (await site.get(f"/?nocache={time.monotonic_ns()}")).status_code
            except httpx.HTTPError:
                status = 0
            if status != 200:
                refused.append(status)
            times.append((time.monotonic() - began) * 1000)


async def _until_quiet(site: Site) -> None:
    """PHP-FPM ends idle workers by itself."""

    async def is_quiet() -> bool | None:
        return site.hosted.quiet_seconds > 0 or None

    await until(is_quiet, 60)


def _container_memory(site: Site) -> int:
    """Without the cache of files, which the kernel takes back when it needs memory."""
    group = site.hosted.plan.container.cgroup
    for path in (cgroups.ROOT / f"memory{group}/memory.stat", cgroups.ROOT / f"{group[1:]}/memory.stat"):
        if path.exists():
            fields = dict(line.split() for line in path.read_text().splitlines())
            names = ("total_rss", "total_shmem") if "total_rss" in fields else ("anon", "shmem", "kernel")
            return sum(int(fields.get(name, 0)) for name in names)
    raise CouldNotRun("the kernel does not say how much memory a container uses")


def _own_memory() -> int:
    """Of the agent, which runs in this process."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")
