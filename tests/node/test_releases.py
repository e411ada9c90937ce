"""Releases on a node: their files, how long they are kept, and when they are removed."""

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path

import brotli
import pytest

from stead.node.disk_space import MB, DiskSpace
from stead.node.drivers.driver import Refusal
from stead.node.drivers.releases import KEPT_RELEASES
from stead.node.drivers.static_runtime import StaticRuntime
from stead.node.feed.record_store import RecordChange, RecordStore, referenced_releases
from stead.protocol.edge_records import (
    PLACEHOLDER,
    EnvironmentRecord,
    HostRecord,
    encode,
    environment_key,
    host_key,
)
from stead.protocol.work.releases import EnsureRelease, release_of
from tests.node.driver_pairs import new_assignment
from tests.node.layer_server import LayerServer, serve_layers


@pytest.fixture(scope="module")
def store() -> Iterator[LayerServer]:
    with serve_layers() as it:
        yield it


class Named:
    """The releases that edge records name."""

    def __init__(self) -> None:
        self.releases: set[str] | None = set()

    def __call__(self) -> set[str] | None:
        return self.releases


def _here(data: Path) -> set[str]:
    return {path.name for path in (data / "releases").iterdir()}


def _names(*offers: EnsureRelease) -> set[str]:
    return {release_of(offer.digest) for offer in offers}


async def test_every_release_has_its_files_and_its_own_modification_time(
    tmp_path: Path, store: LayerServer
) -> None:
    runtime, it = StaticRuntime(tmp_path), new_assignment()
    await runtime.ensure_environment(it)
    moments = set()
    for number in range(3):
        offer = store.offer({"index.html": f"page {number}", "a/b.txt": "the same size"})
        await runtime.ensure_release(it, offer)
        place = tmp_path / "releases" / release_of(offer.digest)
        assert (place / "index.html").read_text() == f"page {number}"
        assert (place / "a" / "b.txt").read_text() == "the same size"
        moments |= {int(path.stat().st_mtime) for path in place.rglob("*") if path.is_file()}
    assert len(moments) == 3


async def test_the_latest_releases_of_an_environment_and_served_ones_are_kept(
    tmp_path: Path, store: LayerServer
) -> None:
    named = Named()
    runtime, it = StaticRuntime(tmp_path, named), new_assignment()
    await runtime.ensure_environment(it)
    offers = [store.offer({"index.html": str(number)}) for number in range(KEPT_RELEASES + 3)]
    named.releases = _names(offers[0])
    for offer in offers:
        await runtime.ensure_release(it, offer)
    assert _here(tmp_path) == {PLACEHOLDER} | _names(offers[0], *offers[-KEPT_RELEASES:])
    named.releases = set()
    await runtime.tidy()
    assert _here(tmp_path) == {PLACEHOLDER} | _names(*offers[-KEPT_RELEASES:])
    await runtime.ensure_release(it, offers[-KEPT_RELEASES])
    await runtime.ensure_release(it, offers[0])
    kept = _names(offers[0], offers[-KEPT_RELEASES], *offers[-KEPT_RELEASES + 2 :])
    assert _here(tmp_path) == {PLACEHOLDER} | kept, "what was used again is new again"


async def test_releases_of_another_environment_are_kept_when_one_is_removed(
    tmp_path: Path, store: LayerServer
) -> None:
    runtime = StaticRuntime(tmp_path, Named())
    one, two = new_assignment(), new_assignment()
    shared, own = store.offer({"index.html": "shared"}), store.offer({"index.html": "own"})
    for it in (one, two):
        await runtime.ensure_environment(it)
        await runtime.ensure_release(it, shared)
    await runtime.ensure_release(one, own)
    await runtime.remove_environment(one)
    await runtime.tidy()
    assert _here(tmp_path) == {PLACEHOLDER} | _names(shared)


async def test_nothing_is_removed_while_the_served_releases_are_unknown(
    tmp_path: Path, store: LayerServer
) -> None:
    named = Named()
    runtime, it = StaticRuntime(tmp_path, named), new_assignment()
    await runtime.ensure_environment(it)
    offer = store.offer({"index.html": "perhaps served"})
    await runtime.ensure_release(it, offer)
    await runtime.remove_environment(it)
    named.releases = None
    await runtime.tidy()
    assert _here(tmp_path) == {PLACEHOLDER} | _names(offer)
    named.releases = set()
    await runtime.tidy()
    assert _here(tmp_path) == {PLACEHOLDER}


async def test_leftovers_of_an_interrupted_download_are_removed(tmp_path: Path) -> None:
    (tmp_path / "releases" / f".{'0' * 64}.abc").mkdir(parents=True)
    (tmp_path / "downloads").mkdir()
    (tmp_path / "downloads" / "half").write_text("a layer")
    runtime = StaticRuntime(tmp_path, Named())
    await runtime.tidy()
    assert _here(tmp_path) == {PLACEHOLDER}
    assert not list((tmp_path / "downloads").iterdir())


async def test_a_collection_never_removes_a_release_that_is_being_fetched(
    tmp_path: Path, store: LayerServer
) -> None:
    runtime = StaticRuntime(tmp_path, Named())
    offers = [store.offer({"index.html": f"busy {number}"}) for number in range(60)]
    tasks = [new_assignment() for _ in offers]
    for it in tasks:
        await runtime.ensure_environment(it)
    fetching = [
        asyncio.create_task(runtime.ensure_release(it, offer))
        for it, offer in zip(tasks, offers, strict=True)
    ]
    while not all(each.done() for each in fetching):
        await runtime.tidy()
        await asyncio.sleep(0)
    await asyncio.gather(*fetching)
    assert _here(tmp_path) == {PLACEHOLDER} | _names(*offers)


def test_the_served_releases_are_read_from_the_edge_records(tmp_path: Path) -> None:
    path = tmp_path / "edge.sqlite"
    assert referenced_releases(path) is None
    records = RecordStore(path)
    assert referenced_releases(path) is None, "a store that has heard nothing yet says nothing"
    records.begin_history("history")
    changes = [
        RecordChange(environment_key("us-east", f"env-{number}"), number, number, encode(record))
        for number, record in enumerate(
            [EnvironmentRecord("site", "node", release="a" * 64), EnvironmentRecord("site", "node")], 1
        )
    ]
    records.apply(changes[:1], last=False)
    assert referenced_releases(path) is None, "nor one that is being read anew"
    records.apply(changes[1:], last=True)
    assert referenced_releases(path) == {"a" * 64, PLACEHOLDER}
    hosts = {
        "shop.example.com": HostRecord("env-1"),
        "dep--shop.preview.example": HostRecord("env-1", release="b" * 64),
        "release.example.com": HostRecord("env-1", redirect_to="shop.example.com"),
    }
    changes = [
        RecordChange(host_key("us-east", host), number, number, encode(record))
        for number, (host, record) in enumerate(hosts.items(), 3)
    ]
    records.apply(changes, last=True)
    assert referenced_releases(path) == {"a" * 64, "b" * 64, PLACEHOLDER}
    gone = RecordChange(changes[1].key, 6, 6, None)
    records.apply([gone], last=True)
    assert referenced_releases(path) == {"a" * 64, PLACEHOLDER}
    records.close()


async def test_a_node_short_of_disk_space_accepts_no_release_and_keeps_those_it_has(
    tmp_path: Path, store: LayerServer
) -> None:
    disk, it = os.statvfs(tmp_path), new_assignment()
    has, new = store.offer({"index.html": "here"}), store.offer({"index.html": "too late"})
    runtime = StaticRuntime(tmp_path, Named())
    await runtime.ensure_environment(it)
    await runtime.ensure_release(it, has)
    full = StaticRuntime(tmp_path, Named(), DiskSpace(tmp_path, disk.f_blocks * disk.f_frsize // MB))
    asked = len(store.asked)
    with pytest.raises(Refusal) as refused:
        await full.ensure_release(it, new)
    assert refused.value.code == "node.short_of_space"
    assert len(store.asked) == asked
    await full.ensure_release(it, has)
    assert _here(tmp_path) == {PLACEHOLDER, *_names(has)}


def test_work_at_the_same_time_counts_with_all_that_it_may_still_use(tmp_path: Path) -> None:
    space = DiskSpace(tmp_path, 0)
    disk = os.statvfs(tmp_path)
    half = disk.f_bavail * disk.f_frsize * 6 // 10
    with space.reserve(half), pytest.raises(Refusal), space.reserve(half):
        pass
    with space.reserve(half):
        assert not space.is_short


async def test_the_rules_of_a_release_are_compiled_beside_it_and_removed_with_it(
    tmp_path: Path, store: LayerServer
) -> None:
    named = Named()
    runtime, it = StaticRuntime(tmp_path, named), new_assignment()
    await runtime.ensure_environment(it)
    code = "let a = 1;\n" * 500
    ruled = store.offer(
        {"index.html": "home", "app.js": code, "_redirects": "/old /new", "_headers": "/*\n  X-A: b"}
    )
    await runtime.ensure_release(it, ruled)
    rules = tmp_path / "release-rules" / f"{release_of(ruled.digest)}.json"
    assert b'"/old"' in rules.read_bytes()
    assert rules.stat().st_mode & 0o777 == 0o644
    release = tmp_path / "releases" / release_of(ruled.digest)
    assert brotli.decompress((release / "app.js.br").read_bytes()).decode() == code
    assert len({int(path.stat().st_mtime) for path in release.rglob("*")}) == 1
    forged = store.offer({"index.html": "x", "release-rules/x.json": "{}"})
    await runtime.ensure_release(it, forged)
    assert [path.name for path in rules.parent.iterdir()] == [rules.name]
    rules.unlink()
    await runtime.ensure_release(it, ruled)
    assert rules.exists(), (
        "a release of an earlier version of the node gets its rules with the next deployment"
    )
    for number in range(KEPT_RELEASES):
        await runtime.ensure_release(it, store.offer({"index.html": f"newer {number}"}))
    assert not release.exists()
    assert not rules.exists()
    (rules.parent / f"{'1' * 64}.json").write_text("{}")
    StaticRuntime(tmp_path, named)
    assert not list(rules.parent.iterdir()), "left over by a node that was killed"
