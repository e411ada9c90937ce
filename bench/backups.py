"""Snapshots of a WordPress site, compared with `mariadb-dump` and restic as an administrator would use them,
on the same site, into repositories on the same disk.

`STEAD_BENCH_POSTS` is the size of the site.
"""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.cms import require_images
from bench.cms_work import POSTS, run_program, time_with
from bench.results import Result
from bench.servers import Bench
from bench.timings import Timings, compare
from stead.mariadb.connection import connect
from stead.node.containers.limits import MB
from stead.node.uninterrupted import run_in_thread
from stead.protocol.work.hosting import DiscardDataset
from stead.protocol.work.snapshots import SnapshotTaken
from stead.shared.ids import new_id
from tests.node.wordpress.large_site import BYTES_PER_POST, LargeSite
from tests.node.wordpress.repositories import LocalRepository, restoration, take, verification
from tests.node.wordpress.wordpress_node import Site, start_wordpress_node

ROUNDS = 3
UNVERIFIED_GOAL, VERIFIED_GOAL, RESTORE_GOAL = 1.3, 2.0, 1.3
_COPY = "bench_restored"


@dataclass
class World:
    site: Site
    place: Path
    """For repositories, and for what the administrator does."""
    disk_mb: int
    description: str

    def new_repository(self) -> LocalRepository:
        return LocalRepository(self.place / new_id("r"))

    def new_timings(self) -> Timings:
        return time_with(self.site.node.databases.server)

    def change(self) -> None:
        """What a day changes: some rows and some files."""
        self.site.query(
            "update {schema}.wp_posts set post_title = concat(post_title, '.') where id % 500 = 0"
        )
        for number in range(10):
            (self.site.paths.uploads / f"{new_id('f')}-{number}.jpg").write_bytes(os.urandom(200 << 10))


@asynccontextmanager
async def _start_world() -> AsyncIterator[World]:
    require_images()
    posts = int(os.environ.get("STEAD_BENCH_POSTS") or POSTS)
    disk_mb = 256 + 2 * posts * BYTES_PER_POST // MB
    async with start_wordpress_node() as node:
        site = await node.create(disk_mb=disk_mb)
        large = LargeSite(site.host, posts)
        await run_in_thread(large.make_rows, site)
        files = await run_in_thread(large.make_uploads, site.paths.uploads)
        place = Path(tempfile.mkdtemp(prefix="stead-bench-backups-"))
        await run_in_thread(place.chmod, 0o711)
        try:
            yield World(site, place, disk_mb, f"{posts} posts, {files} files")
        finally:
            await run_in_thread(shutil.rmtree, place)


async def compare_backups(_: Bench) -> Result:
    """The first snapshot into an empty repository, and one after the changes of a day."""
    async with _start_world() as world:
        kinds = {name: (world.new_timings(), world.new_timings(), world.new_timings()) for name in _KINDS}
        for _round in range(ROUNDS + 1):
            ours, bare = world.new_repository(), world.new_repository()
            cache = world.place / new_id("c")
            for name in _KINDS:
                snapshot, (unverified, verified, alone) = new_id("snap"), kinds[name]
                with alone.measure():
                    await _back_up_without_platform(world, bare, cache)
                with verified.measure():
                    with unverified.measure():
                        taken = await take(world.site, ours, snapshot)
                    await _verify(world, ours, snapshot, taken)
                world.change()
            for repository in (ours, bare):
                await run_in_thread(shutil.rmtree, repository.path)
            world.site.node.runtime.snapshots.remove(world.site.environment)
        return _describe(world, kinds)


_KINDS = ("first", "repeated")


def _describe(world: World, kinds: dict[str, tuple[Timings, Timings, Timings]]) -> Result:
    details, ratios = [], {}
    for name, (unverified, verified, alone) in kinds.items():
        for timings in (unverified, verified, alone):
            timings.drop_first()
        for what, goal, timings in (
            ("unverified", UNVERIFIED_GOAL, unverified),
            ("verified", VERIFIED_GOAL, verified),
        ):
            ratio, spreads = compare(timings, alone)
            ratios[f"{name}, {what}"] = ratio
            details += [f"{name}, {what} (goal {goal}): {ratio:.2f}; {each}" for each in spreads]
        details += [
            f"{name}: unverified {unverified}; verified {verified}",
            f"{name}: mariadb-dump and restic {alone}",
        ]
    worst = max(ratio for name, ratio in ratios.items() if name.endswith("unverified"))
    return Result(worst, UNVERIFIED_GOAL, [*details, world.description])


async def _verify(world: World, repository: LocalRepository, snapshot: str, taken: SnapshotTaken) -> None:
    settings = world.site.node.settings(world.site, admin_password="", disk_mb=world.disk_mb)
    work = verification(repository, snapshot, taken, wordpress=settings)
    await world.site.node.runtime.snapshots.verify(world.site.assignment, work)


async def _back_up_without_platform(world: World, repository: LocalRepository, cache: Path) -> None:
    """As an administrator would do it by hand."""
    site, dump = world.site, world.place / "database.sql"
    socket = site.node.databases.databases.socket
    options = ["--no-defaults", f"--socket={socket}", "--single-transaction", "--quick"]
    await run_program("mariadb-dump", *options, f"--result-file={dump}", site.schema)
    with _use(repository):
        await run_program(
            *("restic", f"--cache-dir={cache}", "backup", "--quiet"), str(dump), str(site.paths.content)
        )


@contextmanager
def _use(repository: LocalRepository) -> Iterator[None]:
    """In the block, programs find this repository."""
    os.environ["RESTIC_REPOSITORY"] = str(repository.path)
    os.environ["RESTIC_PASSWORD"] = repository.password
    try:
        yield
    finally:
        del os.environ["RESTIC_REPOSITORY"], os.environ["RESTIC_PASSWORD"]


async def compare_restores(_: Bench) -> Result:
    """A dataset that can be served, compared with its manifest, from a snapshot."""
    async with _start_world() as world:
        ours, bare = world.new_timings(), world.new_timings()
        repository, alone, snapshot = world.new_repository(), world.new_repository(), new_id("snap")
        taken = await take(world.site, repository, snapshot)
        await _back_up_without_platform(world, alone, world.place / "cache")
        for _round in range(ROUNDS + 1):
            await _restore_without_platform(world, alone, bare)
            await _restore(world, repository, snapshot, taken, ours)
    for timings in (ours, bare):
        timings.drop_first()
    ratio, ratios = compare(ours, bare)
    details = [*ratios, f"restore: {ours}", f"restic and mariadb: {bare}", world.description]
    return Result(ratio, RESTORE_GOAL, details)


async def _restore(
    world: World, repository: LocalRepository, snapshot: str, taken: SnapshotTaken, timings: Timings
) -> None:
    site = world.site
    settings = site.node.settings(site, admin_password="", disk_mb=world.disk_mb)
    work = restoration(site, repository, snapshot, taken, wordpress=settings)
    with timings.measure():
        await site.node.runtime.snapshots.restore(site.assignment, work)
    await site.node.runtime.datasets.discard(site.assignment, DiscardDataset("cms", work.dataset))


async def _restore_without_platform(world: World, repository: LocalRepository, timings: Timings) -> None:
    site, target = world.site, world.place / "restored"
    socket = site.node.databases.databases.socket
    with connect(socket) as connection:
        connection.execute(f"CREATE DATABASE {_COPY}")
    try:
        with timings.measure(), _use(repository):
            await run_program(
                *("restic", f"--cache-dir={world.place / 'cache'}", "restore", "--quiet", "latest"),
                f"--target={target}",
            )
            (dump,) = target.rglob("database.sql")
            await run_program("mariadb", "--no-defaults", f"--socket={socket}", _COPY, source=dump)
    finally:
        with connect(socket) as connection:
            connection.execute(f"DROP DATABASE {_COPY}")
        await run_in_thread(shutil.rmtree, target)
