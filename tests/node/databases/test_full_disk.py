"""What a full disk does to the server of a node."""

import asyncio
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pymysql
import pytest

from tests.node.databases.harness import Tenant, running_server


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """A file system of its own, as large as a server and little more."""
    directory = Path(tempfile.mkdtemp(prefix="stead-disk-"))
    directory.chmod(0o711)
    mounted = directory / "disk"
    mounted.mkdir()
    with (directory / "file").open("wb") as file:
        file.truncate(360 << 20)
    subprocess.run(["mkfs.ext4", "-q", "-m", "0", directory / "file"], check=True)  # noqa: S607
    subprocess.run(["mount", "-o", "loop", directory / "file", mounted], check=True)  # noqa: S607
    mounted.chmod(0o711)
    try:
        yield mounted
    finally:
        subprocess.run(["umount", "--lazy", mounted], check=True)  # noqa: S607
        (directory / "file").unlink()
        mounted.rmdir()
        directory.rmdir()


def test_after_a_full_disk_the_server_returns_with_every_row_when_there_is_space(small_disk: Path) -> None:
    """MariaDB ends itself when a rollback finds no space."""
    filler = small_disk / "filler"
    filler.write_bytes(bytes(40 << 20))
    with running_server(small_disk / "mariadb") as harness:
        tenant, neighbour = asyncio.run(harness.tenant()), asyncio.run(harness.tenant())
        neighbour.query("CREATE TABLE t (id INT PRIMARY KEY)")
        neighbour.query("INSERT INTO t VALUES (1)")
        tenant.query("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, x MEDIUMTEXT)")
        committed, refusal = _fill(tenant)
        assert committed > 0
        asyncio.run(harness.server.stop())
        filler.unlink()
        asyncio.run(harness.server.start())
        assert neighbour.query("SELECT id FROM t") == [(1,)]
        assert tenant.query("SELECT COUNT(*), SUM(LENGTH(x)) FROM t") == [(committed, committed * 1000000)]
        neighbour.query("INSERT INTO t VALUES (2)")
        asyncio.run(harness.databases.drop(tenant.environment))
        assert not asyncio.run(harness.databases.exists(tenant.environment))
    print(f"\nfull after {committed} MB: error {refusal}")  # noqa: T201


def _fill(tenant: Tenant) -> tuple[int, int]:
    """Return how many megabytes were accepted, and the number of the error."""
    for committed in range(1000):
        try:
            tenant.query("INSERT INTO t (x) VALUES (REPEAT('x', 1000000))")
        except pymysql.MySQLError as error:
            return committed, error.args[0]
    raise AssertionError("the disk was never full")
