"""A database that is too large takes no more rows, and those of others do."""

import pymysql
import pytest

from stead.mariadb.connection import StatementFailed, connect
from stead.node.databases.size_limits import SizeLimits
from tests.node.databases.harness import DatabaseHarness, Tenant

LIMIT = 8 << 20


def _fill(tenant: Tenant, rows: int) -> None:
    tenant.query("CREATE TABLE IF NOT EXISTS big (id INT AUTO_INCREMENT PRIMARY KEY, text LONGTEXT)")
    for _ in range(rows):
        tenant.query("INSERT INTO big (text) VALUES (REPEAT('x', 1048576))")


async def test_a_database_that_is_too_large_is_read_and_emptied_but_not_filled(
    bench: DatabaseHarness,
) -> None:
    large, other = await bench.tenant(), await bench.tenant()
    sizes = SizeLimits(bench.server.socket)
    limits = {large.environment: LIMIT, other.environment: LIMIT}
    _fill(large, 3)
    assert await sizes.enforce(limits) == []
    _fill(large, 12)
    held = large.connect()
    assert await sizes.enforce(limits) == [large.environment]
    with pytest.raises(pymysql.MySQLError):
        held.query("INSERT INTO big (text) VALUES ('one more')")
    for refused in (
        "INSERT INTO big (text) VALUES ('one more')",
        "UPDATE big SET text = REPEAT('y', 2097152)",
        "CREATE TABLE more (id INT)",
        "CREATE TEMPORARY TABLE more AS SELECT * FROM big",
        "ALTER TABLE big ADD COLUMN more LONGTEXT",
    ):
        with pytest.raises(pymysql.MySQLError, match="denied"):
            large.query(refused)
    assert large.query("SELECT COUNT(*) FROM big") == [(15,)]
    other.query("CREATE TABLE small (id INT)")
    large.query("DROP TABLE big")
    assert await sizes.enforce(limits) == []
    _fill(large, 1)


async def test_an_account_that_does_not_exist_is_not_made(bench: DatabaseHarness) -> None:
    gone = await bench.tenant()
    await bench.databases.drop(gone.environment)
    assert await SizeLimits(bench.server.socket).enforce({gone.environment: LIMIT}) == []
    with connect(bench.server.socket) as connection:
        named = connection.execute("SELECT user FROM mysql.global_priv WHERE user = %s", [gone.environment])
        assert named == []
        with pytest.raises(StatementFailed):
            connection.execute(f"GRANT SELECT ON `x`.* TO `{gone.environment}`@localhost")


async def test_a_new_agent_knows_which_databases_are_too_large(bench: DatabaseHarness) -> None:
    large = await bench.tenant()
    _fill(large, 15)
    for _ in range(2):
        assert await SizeLimits(bench.server.socket).enforce({large.environment: LIMIT}) == [
            large.environment
        ]
    with pytest.raises(pymysql.MySQLError, match="denied"):
        _fill(large, 1)
    assert await SizeLimits(bench.server.socket).enforce({large.environment: 4 * LIMIT}) == []
    _fill(large, 1)
