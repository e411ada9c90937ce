"""The database of an environment is created, closed, opened again and dropped; each can be repeated."""

import asyncio
import subprocess

import pymysql
import pytest

from stead.mariadb.connection import connect
from stead.mariadb.data_directory import ServerUnavailable
from stead.node.databases.databases import Databases
from stead.node.databases.names import quote_name, quote_pattern
from stead.shared.ids import EnvironmentId, new_id
from tests.node.databases.harness import DatabaseHarness, Tenant


async def test_a_database_is_used_closed_opened_again_with_every_row_and_dropped(
    bench: DatabaseHarness,
) -> None:
    databases, tenant = bench.databases, await bench.tenant()
    tenant.query("CREATE TABLE posts (id INT PRIMARY KEY, title TEXT)")
    tenant.query("INSERT INTO posts VALUES (1, 'one'), (2, 'zwölf 🦊')")
    with tenant.connect() as connected:
        await databases.keep(tenant.environment)
        with pytest.raises(pymysql.MySQLError), connected.cursor() as cursor:
            cursor.execute("SELECT 1")
    with pytest.raises(pymysql.OperationalError, match="this account is locked"):
        tenant.connect()
    assert await databases.exists(tenant.environment)
    await databases.create(tenant.environment, "another password")
    with pytest.raises(pymysql.OperationalError, match="Access denied"):
        tenant.connect()
    again = Tenant(tenant.socket, tenant.environment, "another password")
    assert again.query("SELECT * FROM posts ORDER BY id") == [(1, "one"), (2, "zwölf 🦊")]
    for _ in range(2):
        await databases.drop(tenant.environment)
        assert not await databases.exists(tenant.environment)
    with pytest.raises(pymysql.OperationalError, match="Access denied"):
        again.connect()


async def test_creating_a_database_many_times_at_once_keeps_its_rows(bench: DatabaseHarness) -> None:
    tenant = await bench.tenant()
    tenant.query("CREATE TABLE t (id INT)")
    tenant.query("INSERT INTO t VALUES (7)")
    await asyncio.gather(
        *(bench.databases.create(tenant.environment, tenant.password) for _ in range(8)),
    )
    assert tenant.query("SELECT id FROM t") == [(7,)]


@pytest.mark.parametrize("password", ["'", "\\", "%s %d %", "a' OR '1'='1", '"`;--', "ü🦊"])
async def test_every_password_works(bench: DatabaseHarness, password: str) -> None:
    environment = EnvironmentId(new_id("env"))
    await bench.databases.create(environment, password)
    assert Tenant(bench.server.socket, environment, password).query("SELECT 1") == [(1,)]
    await bench.databases.drop(environment)


@pytest.mark.parametrize(
    "name",
    [
        "",
        "mysql",
        "env_",
        "env_%",
        "`",
        "env_x`; DROP DATABASE mysql; --",
        "site_" + "0" * 26,
        "env_" + "A" * 26,
    ],
)
async def test_only_the_id_of_an_environment_becomes_a_name(bench: DatabaseHarness, name: str) -> None:
    databases, identifier = bench.databases, EnvironmentId(name)
    for attempt in (
        databases.create(identifier, "x"),
        databases.drop(identifier),
        databases.keep(identifier),
    ):
        with pytest.raises(ValueError, match="not the id of an environment"):
            await attempt


def test_names_and_patterns_are_quoted() -> None:
    assert quote_name("a`b") == "`a``b`"
    assert quote_pattern("env_a%\\") == "`env\\_a\\%\\\\`"


async def test_usage_lists_every_environment_with_its_size(bench: DatabaseHarness) -> None:
    small, large = await bench.tenant(), await bench.tenant()
    large.query("CREATE TABLE t (x MEDIUMTEXT)")
    large.query("INSERT INTO t SELECT REPEAT('x', 100000) FROM seq_1_to_100")
    large.query("ANALYZE TABLE t")
    await bench.databases.keep(small.environment)
    usage = {it.environment: it for it in await bench.databases.list_usage()}
    assert (usage[small.environment].tables, usage[small.environment].bytes) == (0, 0)
    assert (usage[small.environment].kept, usage[large.environment].kept) == (True, False)
    assert 10_000_000 < usage[large.environment].bytes < 40_000_000
    assert all(name.startswith("env_") for name in usage)


def test_only_the_user_of_the_node_is_the_administrator(bench: DatabaseHarness) -> None:
    with connect(bench.server.socket) as connection:
        assert connection.execute("SELECT CURRENT_USER()") == [("root@localhost",)]
        accounts = connection.execute("SELECT user FROM mysql.global_priv WHERE user NOT LIKE 'env%'")
    assert {user for (user,) in accounts} == {"root", "mariadb.sys"}
    for uid in (65534, 1 << 28):  # nobody, and the root of a container
        for user in ("root", "mysql", "mariadb.sys", "nobody", ""):
            for password in ("", "invalid", "root"):
                done = subprocess.run(
                    [
                        *("/usr/bin/mariadb", "--no-defaults", f"--socket={bench.server.socket}"),
                        *(f"--user={user}", f"--password={password}", "--execute=SELECT 1"),
                    ],
                    capture_output=True,
                    text=True,
                    cwd="/",
                    user=uid,
                    group=uid,
                    extra_groups=[],
                )
                assert (done.returncode, done.stdout) == (1, ""), (uid, user, password)
                assert done.stderr[:11] in ("ERROR 1045 ", "ERROR 1698 ", "ERROR 4151 "), done.stderr


async def test_without_a_server_every_call_says_so(bench: DatabaseHarness) -> None:
    databases = Databases(bench.server.settings.home / "no.sock")
    with pytest.raises(ServerUnavailable, match="MariaDB does not answer"):
        await databases.exists(EnvironmentId(new_id("env")))
