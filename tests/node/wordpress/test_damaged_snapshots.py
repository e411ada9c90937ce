"""Snapshots with damage of every kind: it is found and named, and later snapshots can be restored."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from stead.node.drivers.driver import Refusal
from stead.node.processes import Processes
from stead.node.wordpress.snapshot_taking import SnapshotTaking
from stead.shared.ids import new_id
from tests.node.wordpress.fingerprints import differences, fingerprint
from tests.node.wordpress.repositories import LocalRepository, restoration, take, verification
from tests.node.wordpress.wordpress_node import Site


@pytest.fixture
def repository(scratch: Path) -> LocalRepository:
    return LocalRepository(scratch / "restic")


def _flip_byte(repository: LocalRepository) -> Path:
    """In the middle of the largest pack, which has data of files or rows."""
    pack = max((repository.path / "data").glob("*/*"), key=lambda path: path.stat().st_size)
    content = bytearray(pack.read_bytes())
    content[len(content) // 3] ^= 1
    pack.write_bytes(content)
    return pack


def _cut_end(file: Path) -> None:
    with file.open("r+b") as opened:
        opened.truncate(file.stat().st_size - 200)


async def test_a_flipped_byte_is_found_and_the_next_snapshot_is_intact_after_the_repair(
    site: Site, repository: LocalRepository
) -> None:
    snapshots, snapshot = site.node.runtime.snapshots, new_id("snap")
    (site.paths.uploads / "photo.bin").write_bytes(bytes(range(256)) * 20_000)
    before = fingerprint(site)
    taken = await take(site, repository, snapshot)
    pack = _flip_byte(repository)
    with pytest.raises(Refusal) as refused:
        await snapshots.verify(site.assignment, verification(repository, snapshot, taken))
    assert refused.value.code == "backup.damaged"
    assert snapshot in refused.value.reason
    with pytest.raises(Refusal) as refused:
        await snapshots.restore(site.assignment, restoration(site, repository, snapshot, taken))
    assert (refused.value.code, snapshot in refused.value.reason) == ("backup.damaged", True)
    assert not differences(before, fingerprint(site))
    # Nodes cannot delete. The control plane removes the pack from the index.
    pack.unlink()
    repository.restic("rebuild-index")
    repository.open_to_all()
    following = new_id("snap")
    again = await take(site, repository, following)
    verified = await snapshots.verify(site.assignment, verification(repository, following, again))
    assert verified.booted


async def test_another_manifest_than_the_recorded_one_is_damage(
    site: Site, repository: LocalRepository
) -> None:
    first, second = new_id("snap"), new_id("snap")
    taken, other = await take(site, repository, first), await take(site, repository, second)
    for work in (
        verification(repository, first, other),
        verification(repository, second, taken),
    ):
        with pytest.raises(Refusal) as refused:
            await site.node.runtime.snapshots.verify(site.assignment, work)
        assert (refused.value.code, work.snapshot in refused.value.reason) == ("backup.damaged", True)
    assert site.paths.list_datasets() == {""}


async def test_a_truncated_dump_is_never_stored(
    site: Site, repository: LocalRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if the program that made it has said that it has succeeded."""
    run = Processes("wordpress-tests").run

    async def truncate(argv: Sequence[str], *rest: Any, **more: Any) -> int:
        code = await run(argv, *rest, **more)
        for word in argv:
            if word.startswith("--result-file="):
                _cut_end(Path(word.removeprefix("--result-file=")))
        return code

    taking = site.node.runtime.snapshots._taking
    assert isinstance(taking, SnapshotTaking)
    with monkeypatch.context() as patched:
        patched.setattr(taking, "_run", truncate)
        with pytest.raises(Refusal) as refused:
            await take(site, repository)
    assert refused.value.code == "backup.interrupted"
    assert repository.list_snapshots() == []
    await take(site, repository)
