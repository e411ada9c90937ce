"""An export writes no more to the disk of the node than it has reserved, and leaves nothing there."""

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from stead.node.databases.exports import DatabaseExports
from stead.node.disk_space import MB, DiskSpace
from stead.node.drivers.driver import Refusal
from stead.node.processes import Processes
from stead.protocol.work.cms import ExportDatabase
from tests.node.databases.harness import DatabaseHarness, Tenant
from tests.node.driver_pairs import new_assignment
from tests.node.test_transfer import Store


@pytest.fixture(scope="module")
async def tenant(bench: DatabaseHarness) -> Tenant:
    made = await bench.tenant()
    made.query("CREATE TABLE posts (title text); INSERT INTO posts VALUES ('first')")
    made.query("CREATE TABLE others (title text); INSERT INTO others VALUES ('second')")
    return made


@pytest.fixture
def store() -> Iterator[tuple[Store, str]]:
    kept = Store(200)
    with kept.serve() as url:
        yield kept, url


def exports_in(directory: Path, bench: DatabaseHarness, min_free_mb: int = 0) -> DatabaseExports:
    run, space = Processes("export-tests").run, DiskSpace(directory, min_free_mb)
    return DatabaseExports(run, bench.server.socket, directory / "exports", space)


async def test_a_table_is_exported_once_however_often_it_is_named(
    bench: DatabaseHarness, tenant: Tenant, store: tuple[Store, str], tmp_path: Path
) -> None:
    exports, (kept, url) = exports_in(tmp_path, bench), store
    work = ExportDatabase("cms", url, ("posts",) * 100, compress=True)
    done = await exports.export(tenant.environment, new_assignment(), work)
    (content,) = kept.received
    text = gzip.decompress(content).decode()
    assert len(content) == done.size
    assert text.count("CREATE TABLE `posts`") == 1
    assert text.count("('first')") == 1
    assert "others" not in text
    assert list(exports.scratch.iterdir()) == []


async def test_an_export_ends_at_what_it_has_reserved(
    bench: DatabaseHarness,
    tenant: Tenant,
    store: tuple[Store, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Compressed columns are much shorter in the database than in a dump."""
    # With what a dump may have beyond its rows, the test would have to write 256 MB.
    monkeypatch.setattr("stead.node.databases.dumps._BOUND_SPARE", 16 << 20)
    exports, (kept, url) = exports_in(tmp_path, bench), store
    tenant.query("CREATE TABLE dense (n int, content longtext COMPRESSED)")
    tenant.query("INSERT INTO dense SELECT seq, REPEAT('a', 8000000) FROM seq_1_to_5")
    work = ExportDatabase("cms", url, ("dense",), compress=False)
    try:
        with pytest.raises(Refusal, match="larger than expected"):
            await exports.export(tenant.environment, new_assignment(), work)
    finally:
        tenant.query("DROP TABLE dense")
    assert kept.received == []
    assert list(exports.scratch.iterdir()) == []


async def test_an_export_reserves_all_that_it_may_write(
    bench: DatabaseHarness, tenant: Tenant, store: tuple[Store, str], tmp_path: Path
) -> None:
    free_mb = DiskSpace(tmp_path).usage.free // MB
    exports, (kept, url) = exports_in(tmp_path, bench, min_free_mb=free_mb - 200), store
    work = ExportDatabase("cms", url, ("posts",), compress=False)
    with pytest.raises(Refusal, match="short of disk space"):
        await exports.export(tenant.environment, new_assignment(), work)
    assert kept.received == []


def test_what_an_interrupted_export_has_left_is_removed(bench: DatabaseHarness, tmp_path: Path) -> None:
    exports = exports_in(tmp_path, bench)
    left = exports.scratch / "tmp1" / "dump.sql"
    left.parent.mkdir(parents=True)
    left.write_text("rows")
    exports.clear()
    assert not left.exists()
    exports.clear()
