"""Snapshots of real WordPress sites: taken, verified and restored with a real restic and MariaDB."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest

from stead.node.drivers.driver import Refusal
from stead.node.wordpress import snapshot_taking
from stead.protocol.snapshot_manifest import digest_of, read_manifest
from stead.shared.ids import new_id
from tests.node.wordpress.fingerprints import differences, fingerprint
from tests.node.wordpress.repositories import LocalRepository, restoration, take, verification
from tests.node.wordpress.wordpress_node import LIMITS, Site, WordPressNode


@pytest.fixture
def repository(scratch: Path) -> LocalRepository:
    return LocalRepository(scratch / "restic")


@pytest.fixture(scope="module")
async def shared(node: WordPressNode) -> AsyncIterator[Site]:
    """A site that tests read, and change only by adding."""
    made = await node.create()
    fill(made)
    yield made
    await node.remove(made)


def fill(site: Site) -> None:
    site.query("create table {schema}.`o-d d` (a int, b blob, c varchar(90))")
    site.query("insert into {schema}.`o-d d` values (1, x'00ff0a27', 'one\\ntwo'), (1, null, '(1),')")
    site.query("create table {schema}.nothing (a int primary key)")
    site.query("create view {schema}.seen as select a from {schema}.nothing")
    folder = site.paths.uploads / "2026" / "11"
    folder.mkdir(parents=True)
    names = [b"photo.jpg", "gr\u00fc\u00df e.txt".encode(), b"odd\xff\nname", b"-rf", b"Icon\r", b"a\rb"]
    for name in names:
        (folder / os.fsdecode(name)).write_bytes(os.urandom(50_000))
    (folder / "empty").touch()
    (folder / "link").symlink_to("/etc/passwd")
    for path in (folder.parent, *folder.parent.rglob("*")):
        os.chown(path, *_owner(site), follow_symlinks=False)


def _owner(site: Site) -> tuple[int, int]:
    status = site.paths.content.stat()
    return status.st_uid, status.st_gid


def _leftovers(site: Site) -> list[str]:
    home = site.node.data / "hosting" / "snapshots" / site.environment
    mounts = Path("/proc/self/mountinfo").read_text()
    left = [str(path.relative_to(home)) for path in home.rglob("*") if "cache" not in path.parts]
    assert str(home) not in mounts
    return sorted(set(left) - {"attempt", "cache", "hashes", "manifest", "no-sockets"})


async def test_a_snapshot_has_a_manifest_that_describes_rows_and_files(
    shared: Site, repository: LocalRepository
) -> None:
    snapshot = new_id("snap")
    taken = await take(shared, repository, snapshot, document=b'{"redirects": []}')
    (stored,) = repository.list_snapshots()
    assert (stored["id"], stored["tags"], stored["hostname"]) == (
        taken.restic_id,
        [snapshot],
        shared.environment,
    )
    data = repository.restic("dump", taken.restic_id, "/manifest.json").encode()
    assert digest_of(data) == taken.manifest_digest
    manifest = read_manifest(data)
    assert (manifest.document, manifest.php, manifest.environment) == (
        b'{"redirects": []}',
        "8.2",
        shared.environment,
    )
    assert manifest.database is not None
    assert manifest.files is not None
    rows = {table.name: table.rows for table in manifest.database.tables}
    assert (rows["o-d d"], rows["nothing"], rows["wp_users"]) == (2, 0, 1)
    assert taken.rows == sum(rows.values())
    on_disk = [path for path in shared.paths.content.rglob("*") if path.is_file() and not path.is_symlink()]
    assert taken.files == manifest.files.count == len(on_disk)
    assert _leftovers(shared) == []


async def test_taking_the_same_snapshot_again_returns_the_first_one(
    shared: Site, repository: LocalRepository
) -> None:
    snapshot = new_id("snap")
    first = await take(shared, repository, snapshot)
    again = await take(shared, repository, snapshot)
    assert (again.restic_id, again.manifest_digest) == (first.restic_id, first.manifest_digest)
    assert len(repository.list_snapshots()) == 1


async def test_a_second_snapshot_adds_only_what_has_changed(
    shared: Site, repository: LocalRepository
) -> None:
    first = await take(shared, repository)
    second = await take(shared, repository)
    assert second.restic_id != first.restic_id
    assert second.added_bytes < first.added_bytes / 4


async def test_a_verified_snapshot_was_restored_compared_and_started_and_nothing_is_left(
    shared: Site, repository: LocalRepository
) -> None:
    snapshot = new_id("snap")
    taken = await take(shared, repository, snapshot)
    before = fingerprint(shared)
    verified = await shared.node.runtime.snapshots.verify(
        shared.assignment, verification(repository, snapshot, taken)
    )
    assert (verified.files, verified.rows, verified.booted) == (taken.files, taken.rows, True)
    assert shared.paths.list_datasets() == {""}
    schemas = shared.query(f"show databases like '{shared.schema}%'")
    assert schemas == [(shared.schema,)]
    assert not differences(before, fingerprint(shared))
    assert _leftovers(shared) == []


async def test_a_restored_snapshot_has_every_row_and_file_and_is_served_after_the_switch(
    node: WordPressNode, site: Site, repository: LocalRepository
) -> None:
    fill(site)
    assert (await site.get()).status_code == 200
    before, snapshot = fingerprint(site), new_id("snap")
    taken = await take(site, repository, snapshot)
    site.query("update {schema}.wp_options set option_value = 'broken' where option_name = 'blogname'")
    site.query("drop table {schema}.wp_comments")
    (site.paths.uploads / "2026" / "11" / "photo.jpg").unlink()
    work = restoration(site, repository, snapshot, taken)
    await node.runtime.snapshots.restore(site.assignment, work)
    assert site.query("select option_value from {schema}.wp_options where option_name = 'blogname'") == [
        ("broken",)
    ]
    await node.runtime.snapshots.restore(site.assignment, work)
    await node.ensure(site, dataset=work.dataset, admin_password="")
    site.dataset = work.dataset
    assert not differences(before, fingerprint(site))
    assert {path.stat(follow_symlinks=False).st_uid for path in site.paths.content.rglob("*")} == {
        _owner(site)[0]
    }
    assert (site.paths.uploads / "2026" / "11" / "link").readlink() == Path("/etc/passwd")
    page = await site.get()
    assert page.status_code == 200
    assert "A Site" in page.text
    assert _leftovers(site) == []


async def test_a_snapshot_is_restored_on_another_node_with_another_host(
    node: WordPressNode, shared: Site, repository: LocalRepository
) -> None:
    """The environment is new here: its node was lost."""
    snapshot = new_id("snap")
    taken = await take(shared, repository, snapshot)
    other = Site(node, new_id("env"), f"moved-{shared.host}")
    work = restoration(other, repository, snapshot, taken, hosts=(shared.host,))
    await node.runtime.snapshots.restore(other.assignment, work)
    await node.ensure(other, dataset=work.dataset, admin_password="")
    other.dataset = work.dataset
    await node.announce(other)
    assert other.query("select option_value from {schema}.wp_options where option_name = 'home'") == [
        (f"https://{other.host}",)
    ]
    assert "A Site" in (await other.get()).text
    await node.remove(other)


async def test_a_site_that_changes_all_the_time_is_stored_and_verified(
    node: WordPressNode, site: Site, repository: LocalRepository
) -> None:
    """As plugins do that keep pages in files."""
    fill(site)
    cache = site.paths.content / "cache"
    cache.mkdir()
    stopped = False

    def churn() -> None:
        number = 0
        while not stopped:
            number += 1
            folder = cache / f"page-{number}"
            folder.mkdir()
            (folder / "index.html").write_bytes(os.urandom(3000))
            (cache / "growing.log").open("ab").write(b"line\n")
            old = cache / f"page-{number - 40}"
            if old.exists():
                (old / "index.html").unlink()
                old.rmdir()

    running = asyncio.create_task(asyncio.to_thread(churn))
    snapshot = new_id("snap")
    try:
        taken = await take(site, repository, snapshot)
    finally:
        stopped = True
        await running
    verified = await node.runtime.snapshots.verify(
        site.assignment, verification(repository, snapshot, taken, boot=False)
    )
    assert verified.rows == taken.rows


async def test_links_that_appear_at_any_moment_never_lead_to_files_of_others(
    site: Site, repository: LocalRepository
) -> None:
    """A directory is swapped with a link to a directory of root as fast as possible."""
    secret = site.node.data / "hosting" / f"secret-{site.environment}"
    secret.mkdir(mode=0o700)
    (secret / "key.txt").write_text("the secret of another tenant")
    folder, link = site.paths.uploads / "folder", site.paths.uploads / "other"
    folder.mkdir()
    (folder / "key.txt").write_text("my own")
    link.symlink_to(secret)
    stopped = False

    def swap() -> None:
        held = site.paths.uploads / "held"
        while not stopped:
            folder.rename(held)
            link.rename(folder)
            folder.rename(link)
            held.rename(folder)

    running = asyncio.create_task(asyncio.to_thread(swap))
    try:
        for _ in range(3):
            # A directory that is never there when it is read may be a reason to refuse.
            with suppress(Refusal):
                await take(site, repository)
    finally:
        stopped = True
        await running
    for stored in repository.list_snapshots():
        listed = repository.restic("ls", "--json", stored["id"], "/files/uploads")
        entries = [json.loads(line) for line in listed.splitlines()]
        for entry in entries:
            if entry.get("type") == "file" and entry["name"] == "key.txt":
                assert repository.restic("dump", stored["id"], entry["path"]) == "my own"


async def test_an_environment_that_is_not_on_the_node_has_no_snapshots(
    node: WordPressNode, repository: LocalRepository
) -> None:
    missing = Site(node, new_id("env"), "missing.example.com")
    with pytest.raises(Refusal) as refused:
        await take(missing, repository)
    assert refused.value.code == "environment.not_found"


async def test_a_sparse_file_that_no_disk_could_hold_is_refused_before_anything_is_stored(
    site: Site, repository: LocalRepository
) -> None:
    sparse = site.paths.uploads / "sparse"
    sparse.touch()
    os.truncate(sparse, 1 << 40)
    with pytest.raises(Refusal, match="the sizes of the files add up to more than") as refused:
        await take(site, repository)
    assert refused.value.code == "backup.unsupported_content"
    assert repository.list_snapshots() == []
    sparse.unlink()
    await take(site, repository)
    assert _leftovers(site) == []


async def test_a_list_of_files_that_becomes_too_long_is_refused(
    shared: Site, repository: LocalRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot_taking, "list_bound", lambda _: 200)
    with pytest.raises(Refusal, match="the names of the files are too long"):
        await take(shared, repository)
    assert repository.list_snapshots() == []
    assert _leftovers(shared) == []


async def test_a_sparse_file_that_cannot_be_restored_is_content_that_no_snapshot_can_have(
    node: WordPressNode, site: Site, repository: LocalRepository
) -> None:
    sparse, snapshot = site.paths.uploads / "sparse", new_id("snap")
    sparse.touch()
    os.truncate(sparse, int(LIMITS["disk_mb"]) * 3 // 2 << 20)
    taken = await take(site, repository, snapshot)
    with pytest.raises(Refusal, match="do not fit on the disk") as refused:
        await node.runtime.snapshots.verify(site.assignment, verification(repository, snapshot, taken))
    assert refused.value.code == "backup.unsupported_content"
    assert _leftovers(site) == []
