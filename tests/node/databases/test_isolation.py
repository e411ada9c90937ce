"""What a customer attempts with a database user against the node and other environments. Nothing succeeds."""

import pymysql
import pytest

from tests.node.databases.harness import DatabaseHarness, Tenant

SECRET = "the neighbour's secret"

REFUSED = [
    "USE `{neighbour}`",
    "SELECT * FROM `{neighbour}`.t",
    "INSERT INTO `{neighbour}`.t VALUES ('x')",
    "DROP TABLE `{neighbour}`.t",
    "DROP DATABASE `{neighbour}`",
    "CREATE TABLE `{neighbour}`.mine (id INT)",
    "CREATE VIEW v AS SELECT * FROM `{neighbour}`.t",
    "RENAME TABLE `{neighbour}`.t TO stolen",
    "CREATE TABLE stolen LIKE `{neighbour}`.t",
    "LOCK TABLES `{neighbour}`.t WRITE",
    "SHOW CREATE TABLE `{neighbour}`.t",
    "SHOW TABLES FROM `{neighbour}`",
    "CREATE TABLE f (x VARCHAR(50), FOREIGN KEY (x) REFERENCES `{neighbour}`.t (x))",
    "CREATE TRIGGER r BEFORE INSERT ON `{neighbour}`.t FOR EACH ROW SET NEW.x = 'x'",
    "CREATE DATABASE mine",
    # As a pattern, these names would be matched by a grant that is not escaped.
    "CREATE DATABASE `{pattern}`",
    "USE `{pattern}`",
    "SELECT * FROM mysql.global_priv",
    "SELECT * FROM mysql.user",
    "SELECT * FROM mysql.innodb_table_stats",
    "USE mysql",
    "SELECT * FROM performance_schema.threads",
    "SELECT * FROM information_schema.innodb_trx",
    "SELECT * FROM information_schema.innodb_sys_tables",
    "SELECT * FROM information_schema.innodb_buffer_page LIMIT 1",
    "SHOW ENGINE INNODB STATUS",
    "SHOW BINARY LOGS",
    "SHOW GRANTS FOR root@localhost",
    "SHOW CREATE USER root@localhost",
    "SHOW GRANTS FOR `{neighbour}`@localhost",
    "SET PASSWORD FOR `{neighbour}`@localhost = PASSWORD('x')",
    "ALTER USER `{own}`@localhost WITH MAX_USER_CONNECTIONS 1000",
    "CREATE USER mine",
    "GRANT ALL ON *.* TO `{own}`@localhost",
    "GRANT SELECT ON `{own}`.* TO `{neighbour}`@localhost",
    "DROP USER `{neighbour}`@localhost",
    "SET ROLE root",
    "LOAD DATA INFILE '/etc/passwd' INTO TABLE mine",
    "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE mine",
    "LOAD DATA INFILE '{empty}/x' INTO TABLE mine",
    "LOAD XML INFILE '/etc/passwd' INTO TABLE mine",
    "SELECT 'x' INTO OUTFILE '/tmp/stead-x'",
    "SELECT 'x' INTO DUMPFILE '{empty}/x'",
    "SELECT 'x' INTO OUTFILE '{data}/x'",
    "CREATE SERVER s FOREIGN DATA WRAPPER mysql OPTIONS (HOST '127.0.0.1')",
    "INSTALL PLUGIN federated SONAME 'ha_federatedx.so'",
    "INSTALL SONAME 'ha_connect'",
    "UNINSTALL PLUGIN unix_socket",
    "CREATE FUNCTION sys_exec RETURNS INT SONAME 'lib_mysqludf_sys.so'",
    "CREATE PROCEDURE p() SELECT 1",
    "CREATE FUNCTION f() RETURNS INT RETURN 1",
    "CREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO SELECT 1",
    "CREATE DEFINER=root@localhost VIEW v AS SELECT * FROM mysql.user",
    "SET GLOBAL max_connections = 1",
    "SET GLOBAL local_infile = 1",
    "SET GLOBAL general_log = 1",
    "SET GLOBAL init_connect = 'x'",
    "SET enforce_storage_engine = NULL",
    "SET sql_log_bin = 0",
    "FLUSH TABLES WITH READ LOCK",
    "FLUSH PRIVILEGES",
    "FLUSH LOGS",
    "RESET MASTER",
    "CHANGE MASTER TO MASTER_HOST='127.0.0.1'",
    "SHUTDOWN",
    "KILL {connection}",
    "PURGE BINARY LOGS BEFORE NOW()",
    "BACKUP STAGE START",
]

HIDDEN = [
    "SELECT LOAD_FILE('/etc/passwd')",
    "SELECT LOAD_FILE('{data}/ibdata1')",
    "SHOW DATABASES",
    "SELECT * FROM information_schema.schemata",
    "SELECT * FROM information_schema.tables WHERE table_schema <> 'information_schema'",
    "SELECT * FROM information_schema.columns WHERE table_schema <> 'information_schema'",
    "SELECT * FROM information_schema.statistics",
    "SELECT * FROM information_schema.key_column_usage",
    "SELECT * FROM information_schema.processlist",
    "SHOW FULL PROCESSLIST",
    "SELECT * FROM information_schema.user_privileges",
    "SELECT * FROM information_schema.schema_privileges",
    "SELECT * FROM information_schema.user_statistics",
    "SELECT * FROM information_schema.table_statistics",
    "SELECT * FROM information_schema.user_variables",
    "SHOW OPEN TABLES",
    "SHOW GRANTS",
    "SHOW GLOBAL STATUS",
    "SELECT * FROM information_schema.views",
    "SELECT * FROM information_schema.triggers",
]


@pytest.fixture
async def pair(bench: DatabaseHarness) -> tuple[Tenant, Tenant]:
    attacker, neighbour = await bench.tenant(), await bench.tenant()
    attacker.query("CREATE TABLE mine (x VARCHAR(50) PRIMARY KEY)")
    neighbour.query("CREATE TABLE t (x VARCHAR(50) PRIMARY KEY)")
    neighbour.query(f'INSERT INTO t VALUES ("{SECRET}")')
    return attacker, neighbour


async def test_nothing_is_read_or_changed_outside_the_own_schema(
    bench: DatabaseHarness, pair: tuple[Tenant, Tenant]
) -> None:
    attacker, neighbour = pair
    settings = bench.server.settings
    with neighbour.connect() as busy, busy.cursor() as cursor:
        cursor.execute(f'SET @secret = "{SECRET}"')
        cursor.execute("SELECT CONNECTION_ID()")
        ((number,),) = cursor.fetchall()
        words = {
            "neighbour": neighbour.environment,
            "own": attacker.environment,
            "pattern": attacker.environment.replace("_", "x"),
            "connection": number,
            "empty": settings.home / "empty",
            "data": settings.data,
        }
        done = []
        for form in REFUSED:
            try:
                attacker.query(form.format_map(words))
                done.append(form)
            except pymysql.MySQLError:
                pass
        assert done == []
        for form in HIDDEN:
            shown = repr(attacker.query(form.format_map(words)))
            for hidden in (SECRET, neighbour.environment, "root:x:", "InnoDB: "):
                assert hidden not in shown, form
        # This reports success and ends nothing, so it does not tell either whether the user is connected.
        attacker.query(f"KILL USER `{neighbour.environment}`")
        busy.ping(reconnect=False)
    assert neighbour.query("SELECT * FROM t") == [(SECRET,)]
    print(f"\n{len(REFUSED) + len(HIDDEN)} attempts, none succeeded")  # noqa: T201
