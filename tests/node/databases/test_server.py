"""The server is started once, adopted, and started again after a crash without lost rows."""

import asyncio
import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pymysql
import pytest

from stead.mariadb.data_directory import ServerUnavailable
from stead.mariadb.server_settings import ServerSettings
from stead.node.databases import server as server_module
from stead.node.databases.node_databases import NodeDatabases
from stead.node.databases.server import DatabaseServer
from tests.node.databases.harness import DatabaseHarness, Tenant, running_server
from tests.patience import Patience


@pytest.fixture
def own() -> Iterator[DatabaseHarness]:
    with running_server() as harness:
        yield harness


async def test_a_running_server_is_adopted_and_not_started_twice(own: DatabaseHarness) -> None:
    pid = own.server.find_process()
    adopted = DatabaseServer(own.server.settings)
    assert not await adopted.start()
    assert adopted.find_process() == pid
    tenant = await own.tenant()
    await adopted.stop()
    assert own.server.find_process() is None
    assert await adopted.start()
    assert adopted.find_process() != pid
    assert tenant.query("SELECT 1") == [(1,)]
    await adopted.stop()


async def test_the_server_listens_only_on_its_socket_and_runs_as_its_own_user(own: DatabaseHarness) -> None:
    pid = own.server.find_process()
    assert pid is not None
    process = psutil.Process(pid)
    assert process.net_connections(kind="inet") == []
    assert process.username() == "mysql"
    home = own.server.settings.home
    assert [path.name for path in own.server.settings.run.iterdir()] == ["mariadb.sock"]
    open_to_others = {path.name for path in home.iterdir() if path.stat().st_mode & 0o007}
    assert open_to_others <= {"run", "empty", "mariadb.pid"}, open_to_others


async def test_a_file_with_the_number_of_another_process_is_not_believed(own: DatabaseHarness) -> None:
    stranger = DatabaseServer(ServerSettings(own.server.settings.home / "other"))
    stranger.settings.home.mkdir()
    stranger.settings.pid_file.write_text(f"{own.server.find_process()}\n")
    assert stranger.find_process() is None
    stranger.settings.pid_file.write_text("not a number")
    assert stranger.find_process() is None


async def test_rows_that_were_committed_survive_a_killed_server_which_is_started_again(
    own: DatabaseHarness,
) -> None:
    """Also those of a table that a plugin creates as MyISAM, which would not survive as such."""
    tenant = await own.tenant()
    tenant.query("CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, x VARCHAR(200)) ENGINE=MyISAM")
    supervised = asyncio.create_task(own.server.keep_running())
    committed = 0
    try:
        for _ in range(3):
            committed += await asyncio.to_thread(_insert_and_kill, own, tenant)
            limit = Patience(120.0)
            while not await own.server.is_ready():
                assert not limit.is_over
                await asyncio.sleep(0.1)
            # The insert that was interrupted may or may not have been committed.
            ((found,),) = tenant.query("SELECT COUNT(*) FROM t")
            assert committed <= found <= committed + 1
            committed = found
    finally:
        supervised.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await supervised
    assert own.server.find_process() is not None
    print(f"\n{committed} rows after three crashes")  # noqa: T201


def _insert_and_kill(own: DatabaseHarness, tenant: Tenant) -> int:
    """Return how many inserts were acknowledged."""
    acknowledged, pid = 0, own.server.find_process()
    assert pid is not None
    with tenant.connect() as connection, connection.cursor() as cursor:
        with contextlib.suppress(pymysql.MySQLError):
            while True:
                cursor.execute("INSERT INTO t (x) VALUES (REPEAT('x', 200))")
                acknowledged += 1
                if acknowledged == 200:
                    os.kill(pid, signal.SIGKILL)
        return acknowledged


async def test_the_agent_keeps_the_server_running_and_leaves_it_when_it_ends(own: DatabaseHarness) -> None:
    databases = NodeDatabases(own.databases, own.server)
    databases.need()
    running = asyncio.create_task(databases.run())
    pid = own.server.find_process()
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    limit = Patience(120.0)
    while own.server.find_process() in (None, pid) or not await own.server.is_ready():
        assert not limit.is_over
        await asyncio.sleep(0.1)
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    assert await own.server.is_ready()


async def test_a_server_that_cannot_start_says_why_and_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = DatabaseServer(ServerSettings(tmp_path / "mariadb"))
    monkeypatch.setattr(server_module, "EXECUTABLE", "no-such-program")
    with pytest.raises(ServerUnavailable, match="no-such-program is not installed"):
        await server.start()
    monkeypatch.setattr(server_module, "EXECUTABLE", "false")
    server.settings.data.mkdir(parents=True)
    with pytest.raises(ServerUnavailable, match="false ended"):
        await server.start()
