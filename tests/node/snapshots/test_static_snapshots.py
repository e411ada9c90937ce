"""Snapshots of static environments, with a real restic."""

from pathlib import Path

import pytest

from stead.node.drivers.driver import Refusal
from stead.node.drivers.static_runtime import StaticRuntime
from stead.node.processes import Processes
from stead.node.snapshots.failures import SnapshotFailed
from stead.node.snapshots.restic import Restic, rest_repository
from stead.node.snapshots.static_driver import StaticSnapshots
from stead.protocol.snapshot_manifest import read_manifest
from stead.protocol.work.snapshots import RepositoryAccess, TakeSnapshot, VerifySnapshot
from stead.shared.ids import new_id
from tests.node.driver_pairs import new_assignment
from tests.node.wordpress.repositories import LocalRepository


def _driver(data: Path) -> StaticSnapshots:
    return StaticSnapshots(data, Restic(Processes("test").run, lambda access: access.url))


async def test_a_static_snapshot_is_taken_once_and_verified(scratch: Path) -> None:
    repository, it, snapshot = LocalRepository(scratch / "restic"), new_assignment(), new_id("snap")
    data = scratch / "node"
    data.mkdir()
    await StaticRuntime(data).ensure_environment(it)
    driver, work = _driver(data), TakeSnapshot("static", repository.access, snapshot, b'{"release": "r"}')
    taken = await driver.take(it, work)
    again = await driver.take(it, work)
    assert (again.restic_id, again.manifest_digest) == (taken.restic_id, taken.manifest_digest)
    (stored,) = repository.list_snapshots()
    manifest = read_manifest(repository.restic("dump", stored["id"], "/manifest.json").encode())
    assert (manifest.runtime, manifest.document) == ("static", b'{"release": "r"}')
    known = (repository.access, snapshot, taken.restic_id)
    assert (await driver.verify(it, VerifySnapshot("static", *known, taken.manifest_digest))).files == 1
    with pytest.raises(Refusal) as refused:
        await driver.verify(it, VerifySnapshot("static", *known, "sha256:" + "0" * 64))
    assert (refused.value.code, snapshot in refused.value.reason) == ("backup.damaged", True)


async def test_a_static_environment_that_is_not_here_has_no_snapshots(scratch: Path) -> None:
    work = TakeSnapshot("static", RepositoryAccess(str(scratch / "none"), "x"), new_id("snap"))
    with pytest.raises(Refusal) as refused:
        await _driver(scratch).take(new_assignment(), work)
    assert refused.value.code == "environment.not_found"


@pytest.mark.parametrize(
    "url", ["/srv/repository", "s3:host/bucket", "sftp:host:/x", "file:///srv", "http:///x", ""]
)
def test_a_node_uses_only_the_gateway(url: str) -> None:
    with pytest.raises(SnapshotFailed):
        rest_repository(RepositoryAccess(url, "x"))


def test_a_gateway_is_reached_over_http() -> None:
    access = RepositoryAccess("https://gateway.example.com/r/token/", "x")
    assert rest_repository(access) == "rest:https://gateway.example.com/r/token/"
