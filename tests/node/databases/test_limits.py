"""The limits of a database user, which a session cannot change."""

import asyncio
import threading
from typing import Any

import pymysql
import pytest

from stead.mariadb.connection import connect
from stead.node.databases.databases import DatabaseLimits
from stead.shared.ids import EnvironmentId
from tests.node.databases.harness import DatabaseHarness
from tests.patience import Patience


async def test_a_table_is_stored_with_the_others_wherever_its_owner_wants_it(bench: DatabaseHarness) -> None:
    tenant = await bench.tenant()
    elsewhere = bench.server.settings.home / "tmp"
    tenant.query(f"CREATE TABLE d (id INT) DATA DIRECTORY='{elsewhere}'")
    assert list(elsewhere.rglob("*.ibd")) == []
    assert (bench.server.settings.data / tenant.environment / "d.ibd").is_file()


async def test_a_grant_does_not_match_similar_names(bench: DatabaseHarness) -> None:
    """`_` in the name of a schema is a pattern in GRANT."""
    tenant = await bench.tenant()
    similar = EnvironmentId(tenant.environment.replace("_", "0"))
    with connect(bench.server.socket) as connection:
        connection.execute(f"CREATE DATABASE `{similar}`")
        try:
            with pytest.raises(pymysql.OperationalError, match="Access denied"):
                tenant.connect(database=similar)
        finally:
            connection.execute(f"DROP DATABASE `{similar}`")


async def test_one_environment_cannot_use_up_the_connections_of_others(bench: DatabaseHarness) -> None:
    greedy, other = await bench.tenant(DatabaseLimits(connections=5)), await bench.tenant()
    opened = [greedy.connect() for _ in range(5)]
    try:
        with pytest.raises(pymysql.OperationalError, match="max_user_connections"):
            greedy.connect()
        assert other.query("SELECT 1") == [(1,)]
    finally:
        for connection in opened:
            connection.close()


async def test_when_all_connections_are_used_the_node_still_administers_the_server(
    bench: DatabaseHarness,
) -> None:
    crowd = [await bench.tenant() for _ in range(4)]
    opened: list[pymysql.Connection[Any]] = []
    try:
        with pytest.raises(pymysql.OperationalError, match="Too many connections"):
            opened.extend(tenant.connect() for _ in range(20) for tenant in crowd)
        assert len(await bench.databases.list_usage()) >= len(crowd)
        # The server has one connection left for all of these.
        await asyncio.gather(*(bench.databases.keep(tenant.environment) for tenant in crowd))
    finally:
        for connection in opened:
            connection.close()


async def test_memory_of_a_session_has_limits_that_it_cannot_raise(bench: DatabaseHarness) -> None:
    tenant = await bench.tenant()
    with tenant.connect() as connection, connection.cursor() as cursor:
        for variable in (
            *("max_session_mem_used", "sort_buffer_size", "join_buffer_size", "tmp_memory_table_size"),
            *("max_heap_table_size", "tmp_disk_table_size", "wait_timeout", "group_concat_max_len"),
        ):
            cursor.execute(f"SELECT @@{variable}")
            before = cursor.fetchall()
            cursor.execute(f"SET {variable} = 17179869184")
            cursor.execute(f"SELECT @@{variable}")
            assert cursor.fetchall() == before, variable
        cursor.execute("CREATE TABLE m (id INT) ENGINE=MEMORY")
        cursor.execute("SHOW CREATE TABLE m")
        ((_, created),) = cursor.fetchall()
        assert "ENGINE=InnoDB" in created


async def test_a_statement_that_takes_too_long_ends(bench: DatabaseHarness) -> None:
    tenant = await bench.tenant(DatabaseLimits(statement_seconds=1))
    with pytest.raises(pymysql.OperationalError, match="max_statement_time exceeded"):
        tenant.query("SELECT SLEEP(60)")


async def test_a_session_that_turns_its_time_limit_off_is_ended_by_the_node(bench: DatabaseHarness) -> None:
    tenant, patient = await bench.tenant(), await bench.tenant()
    failures: list[Exception] = []

    def run_forever() -> None:
        try:
            with tenant.connect() as connection, connection.cursor() as cursor:
                cursor.execute("SET max_statement_time = 0")
                cursor.execute("SELECT SLEEP(600)")
        except pymysql.MySQLError as error:
            failures.append(error)

    thread = threading.Thread(target=run_forever, daemon=True)
    thread.start()
    with patient.connect() as connection:
        limit = Patience(60.0)
        while await bench.databases.end_overlong_work(statement_seconds=1) == 0:
            assert not limit.is_over
            await asyncio.sleep(0.1)
        thread.join(30)
        assert not thread.is_alive()
        connection.ping(reconnect=False)
    assert len(failures) == 1


async def test_a_trigger_that_never_ends_is_ended_by_the_node(bench: DatabaseHarness) -> None:
    """The time of a statement begins again with every statement of its triggers."""
    tenant = await bench.tenant()
    tenant.query("CREATE TABLE t (id INT PRIMARY KEY)")
    tenant.query("INSERT INTO t VALUES (1)")
    tenant.query(
        "CREATE TRIGGER e BEFORE UPDATE ON t FOR EACH ROW BEGIN WHILE TRUE DO SET @x = 1; END WHILE; END"
    )
    failures: list[Exception] = []

    def update() -> None:
        try:
            with tenant.connect() as connection, connection.cursor() as cursor:
                cursor.execute("SET max_statement_time = 0")
                cursor.execute("UPDATE t SET id = 2")
        except pymysql.MySQLError as error:
            failures.append(error)

    thread = threading.Thread(target=update, daemon=True)
    thread.start()
    limit = Patience(60.0)
    while await bench.databases.end_overlong_work(statement_seconds=1, transaction_seconds=1) == 0:
        assert not limit.is_over
        await asyncio.sleep(0.1)
    thread.join(30)
    assert not thread.is_alive()
    assert len(failures) == 1


async def test_a_transaction_that_is_left_open_is_ended_by_the_node(bench: DatabaseHarness) -> None:
    tenant = await bench.tenant()
    tenant.query("CREATE TABLE t (id INT PRIMARY KEY)")
    connection = tenant.connect()
    with connection.cursor() as cursor:
        cursor.execute("SET idle_transaction_timeout = 0")
        cursor.execute("START TRANSACTION")
        cursor.execute("INSERT INTO t VALUES (1)")
    limit = Patience(60.0)
    while await bench.databases.end_overlong_work(transaction_seconds=1) == 0:
        assert not limit.is_over
        await asyncio.sleep(0.1)
    tenant.query("INSERT INTO t VALUES (1)")
    connection.close()
