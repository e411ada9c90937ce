"""A node is killed before each single change of the file system that the driver of static sites makes."""

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from stead.protocol.edge_records import PLACEHOLDER
from stead.protocol.work.releases import EnsureRelease, release_of
from tests.node.crashing_driver import Plan, Task
from tests.node.layer_server import LayerServer, serve_layers
from tests.preloaded.processes import run

FILES = [{"index.html": f"page {number}", "a/b.txt": "the same size"} for number in range(3)]
FEWEST_CHANGES = 50
"""Unpacking three releases alone takes more."""
AT_ONCE = 4

Tree = dict[str, tuple[int, bytes]]


@pytest.fixture
def disk() -> Iterator[Path]:
    """In memory: only the process crashes, and flushing a real disk for every release would take minutes."""
    path = Path(tempfile.mkdtemp(prefix="stead-crashes-", dir="/dev/shm"))
    yield path
    shutil.rmtree(path)


@pytest.fixture
def store() -> Iterator[LayerServer]:
    with serve_layers() as it:
        yield it


def _tree(directory: Path) -> Tree:
    """The mode and the content of everything in it, hidden names included."""
    return {
        str(path.relative_to(directory)): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in directory.rglob("*")
    }


class Machine:
    """The disk of a node on which one plan is carried out."""

    def __init__(self, home: Path, offers: list[EnsureRelease]) -> None:
        self.data, self._home = home / "data", home
        self._plan, self._done = home / "plan", home / "done"
        self.data.mkdir(parents=True)
        first, second, dropped = offers
        tasks = [
            Task("ensure", "env_1"),
            Task("ensure", "env_2"),
            Task("release", "env_1", first),
            Task("release", "env_2", dropped),
            Task("release", "env_1", second),
            Task("remove", "env_2"),
        ]
        self._plan.write_bytes(msgspec.msgpack.encode(Plan(str(self.data), tasks)))

    async def run(self, *, die_before: int = 0) -> bool:
        """Start the driver on this disk. False if it was killed."""
        argv = [sys.executable, "-m", "tests.node.crashing_driver", str(self._plan), str(self._done)]
        ended = await run([*argv, str(die_before)], env=dict(os.environ))
        assert ended.code in {0, -signal.SIGKILL}, ended.errors
        return ended.code == 0

    def remove(self) -> None:
        shutil.rmtree(self._home)


def _check_visible_releases(data: Path, offers: list[EnsureRelease]) -> None:
    """An edge may serve a release as soon as its directory has its name."""
    for offer, files in zip(offers, FILES, strict=True):
        release = data / "releases" / release_of(offer.digest)
        if release.exists():
            assert {name: (release / name).read_text() for name in files} == files
            times = {int(path.stat().st_mtime) for path in release.rglob("*") if path.is_file()}
            assert times == {int(release.stat().st_mtime)}, "all files have the time of the release"
    moments = [int(path.stat().st_mtime) for path in _releases(data)]
    assert len(moments) == len(set(moments)), "no two releases have the same time"


def _releases(data: Path) -> list[Path]:
    found = data / "releases"
    visible = [path for path in found.iterdir() if not path.name.startswith(".")] if found.exists() else []
    return [path for path in visible if path.name != PLACEHOLDER]


async def test_a_node_that_is_killed_before_any_change_of_its_disk_completes_its_work_after_the_restart(
    disk: Path, store: LayerServer
) -> None:
    offers = [store.offer(files) for files in FILES]
    undisturbed = Machine(disk / "undisturbed", offers)
    assert await undisturbed.run()
    expected = _tree(undisturbed.data)
    kept = {release_of(offer.digest) for offer in offers[:2]}
    assert {path.name for path in _releases(undisturbed.data)} == kept
    slots, ended = asyncio.Semaphore(AT_ONCE), asyncio.Event()

    async def crash(number: int) -> bool:
        async with slots:
            if ended.is_set():
                return False
            machine = Machine(disk / str(number), offers)
            if await machine.run(die_before=number):
                ended.set()
                return False
            _check_visible_releases(machine.data, offers)
            assert await machine.run(), f"the restart after a crash before change {number}"
            _check_visible_releases(machine.data, offers)
            assert _tree(machine.data) == expected, f"after a crash before change {number}"
            machine.remove()
            return True

    crashes = await asyncio.gather(*(crash(number) for number in range(1, 1000)))
    assert sum(crashes) >= FEWEST_CHANGES
