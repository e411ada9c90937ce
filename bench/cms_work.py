"""Work on WordPress sites, compared with the same work without the platform: copying a site, and WP-CLI.

`STEAD_BENCH_POSTS` is the size of the site that is copied.
"""

import asyncio
import os
import shutil
from pathlib import Path

import msgspec
import psutil

from bench.cms import require_images
from bench.results import CouldNotRun, Result
from bench.servers import Bench
from bench.timings import Timings, compare, processor_time
from stead.mariadb.connection import connect
from stead.node.containers.limits import MB
from stead.node.containers.runc import new_container
from stead.node.databases.server import DatabaseServer
from stead.node.drivers.driver import Assignment
from stead.node.uninterrupted import run_in_thread
from stead.node.wordpress.commands import WP_CLI, container_of_command
from stead.node.wordpress.program_files import own_files
from stead.protocol.work.access import RunCommand
from stead.protocol.work.hosting import DiscardDataset, PrepareDataset
from stead.shared.ids import new_id
from tests.node.driver_pairs import CapturedOutput
from tests.node.wordpress.large_site import BYTES_PER_POST, LargeSite
from tests.node.wordpress.wordpress_node import CLONE, Site, start_wordpress_node

POSTS, COPIES = 20_000, 3
COMMANDS = 15
CLONE_GOAL, EXEC_GOAL = 1.5, 1.3
COMMAND = ("option", "get", "blogname")
_COPY = "bench_copy"


async def compare_copies(_: Bench) -> Result:
    """A dataset for another environment: files and rows, with its own URLs and harmless, on a disk and in a
    schema of its own."""
    require_images()
    posts = int(os.environ.get("STEAD_BENCH_POSTS") or POSTS)
    disk_mb = 256 + 2 * posts * BYTES_PER_POST // MB
    async with start_wordpress_node() as node:
        ours, bare = time_with(node.databases.server), time_with(node.databases.server)
        site = await node.create(disk_mb=disk_mb)
        large = LargeSite(site.host, posts)
        await run_in_thread(large.make_rows, site)
        files = await run_in_thread(large.make_uploads, site.paths.uploads)
        clone = Site(node, new_id("env"), f"staging-{site.host}")
        # One of each is not counted, so that neither has to read the files from the disk.
        for _round in range(COPIES + 1):
            await _copy_without_platform(site, bare)
            node.output.lines.clear()
            await _copy(site, clone, disk_mb, ours)
        said = [line for line in node.output.lines if not line.endswith("MB")]
    ratio, ratios = _compare_rest(ours, bare)
    details = [
        *ratios,
        f"clone: {ours}",
        f"mariadb-dump, mariadb and cp: {bare}",
        f"{posts} posts, {files} files with {posts * BYTES_PER_POST / MB:.0f} MB",
        *said,
    ]
    return Result(ratio, CLONE_GOAL, details)


def _compare_rest(ours: Timings, bare: Timings) -> tuple[float, list[str]]:
    for timings in (ours, bare):
        timings.drop_first()
    return compare(ours, bare)


def time_with(server: DatabaseServer | None) -> Timings:
    """The processor time of MariaDB counts, too."""

    def used() -> float:
        pid = server.find_process() if server else None
        if pid is None:
            return processor_time()
        times = psutil.Process(pid).cpu_times()
        return processor_time() + times.user + times.system

    return Timings(used)


async def _copy(site: Site, clone: Site, disk_mb: int, timings: Timings) -> None:
    dataset, settings = new_id("job")[-14:], site.node.settings(clone, **CLONE, disk_mb=disk_mb)
    work = PrepareDataset("cms", dataset, settings, site.environment, hosts=(site.host,), uploads=True)
    with timings.measure():
        await site.node.runtime.datasets.prepare(clone.assignment, work)
    await site.node.runtime.datasets.discard(clone.assignment, DiscardDataset("cms", dataset))


async def _copy_without_platform(site: Site, timings: Timings) -> None:
    """As an administrator would do it by hand."""
    socket = site.node.databases.databases.socket
    place = site.node.data / "bench-copy"
    place.mkdir()
    with connect(socket) as connection:
        connection.execute(f"CREATE DATABASE {_COPY}")
    dump = place / "dump.sql"
    options = ["--no-defaults", f"--socket={socket}"]
    consistent = ["--single-transaction", "--quick", f"--result-file={dump}"]
    try:
        with timings.measure():
            await run_program("mariadb-dump", *options, *consistent, site.schema)
            await run_program("mariadb", *options, _COPY, source=dump)
            await run_program("cp", "--archive", str(site.paths.content), str(place / "content"))
    finally:
        with connect(socket) as connection:
            connection.execute(f"DROP DATABASE {_COPY}")
        await run_in_thread(shutil.rmtree, place)


async def run_program(*argv: str, source: Path | None = None) -> str:
    with (source or Path(os.devnull)).open("rb") as file:
        process = await asyncio.create_subprocess_exec(
            *argv, stdin=file, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        out, errors = await process.communicate()
    if process.returncode:
        raise CouldNotRun(f"{argv[0]}: {errors.decode(errors='replace')[-500:]}")
    return out.decode()


async def compare_commands(_: Bench) -> Result:
    """The time of a command of WP-CLI that loads WordPress, from the order to the node until its container is
    gone."""
    require_images()
    ours, bare = Timings(), Timings()
    async with start_wordpress_node() as node:
        site = await node.create()
        for _round in range(COMMANDS + 1):
            await _run_without_platform(site, bare)
            await _run_command(site, ours)
    ratio, ratios = _compare_rest(ours, bare)
    details = [
        *ratios,
        f"command of an environment: {ours}",
        f"the same in a bare container: {bare}",
    ]
    return Result(ratio, EXEC_GOAL, details)


async def _run_command(site: Site, timings: Timings) -> None:
    output = CapturedOutput()
    task = Assignment(new_id("job"), "site_x", site.environment, output)
    with timings.measure():
        await site.node.runtime.run_command(task, RunCommand("cms", "cms-cli", COMMAND))
    _require_title("".join(output.lines))


async def _run_without_platform(site: Site, timings: Timings) -> None:
    """runc with the same image and mounts, and nothing but PHP in the container."""
    plan = await site.node.runtime.plan_program(site.environment)
    container = new_container(f"{plan.container.name}-", plan.paths.memory)
    state = site.node.data / "hosting" / "runc-bench"
    async with own_files(plan) as own:
        made = container_of_command(own, RunCommand("cms", "cms-cli", COMMAND), container.cgroup)
        bare = msgspec.json.decode(msgspec.json.encode(made))
        bare["process"]["args"] = ["/usr/local/bin/php", WP_CLI, *COMMAND]
        container.bundle.mkdir(mode=0o700)
        (container.bundle / "config.json").write_bytes(msgspec.json.encode(bare))
        with timings.measure():
            printed = await run_program(
                "runc", "--root", str(state), "run", "--bundle", str(container.bundle), container.name
            )
        await run_in_thread(shutil.rmtree, container.bundle)
    _require_title(printed)


def _require_title(printed: str) -> None:
    if "A Site" not in printed:
        raise CouldNotRun(f"WP-CLI has printed something else: {printed[:200]}")
