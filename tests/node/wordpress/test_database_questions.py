"""Statements that customers send to the database of their site: none reads or changes what it must not."""

import asyncio
import gzip
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from stead.node.databases.names import reader_account
from stead.node.databases.site_queries import SECONDS
from stead.node.drivers.driver import Refusal
from stead.protocol import questions as protocol
from stead.protocol.questions import Answer
from tests.node.wordpress.test_questions import ask, refusal, result
from tests.node.wordpress.wordpress_node import Site, WordPressNode

CANARY = "canary of another site"
COUNT = "select count(*) from {schema}.wp_posts"

WRITES = """
INSERT INTO wp_options (option_name, option_value) VALUES ('x', 'y')
UPDATE wp_posts SET post_title = 'x'
DELETE FROM wp_posts
REPLACE INTO wp_options (option_name, option_value) VALUES ('x', 'y')
TRUNCATE wp_posts
DROP TABLE wp_posts
DROP DATABASE mysql
CREATE TABLE t (a int)
CREATE TEMPORARY TABLE t (a int)
CREATE VIEW v AS SELECT 1
CREATE OR REPLACE VIEW v AS SELECT 1
CREATE PROCEDURE p() SELECT 1
CREATE FUNCTION f() RETURNS int RETURN 1
CREATE TRIGGER t BEFORE INSERT ON wp_posts FOR EACH ROW SET @a = 1
CREATE EVENT e ON SCHEDULE EVERY 1 DAY DO SELECT 1
CREATE USER evil
CREATE DATABASE evil
CREATE INDEX i ON wp_posts (post_title)
CREATE SEQUENCE s
ALTER TABLE wp_posts ADD COLUMN a int
ALTER DATABASE CHARACTER SET latin1
ALTER USER CURRENT_USER IDENTIFIED BY 'x'
RENAME TABLE wp_posts TO wp_gone
GRANT ALL ON *.* TO CURRENT_USER
REVOKE ALL ON *.* FROM CURRENT_USER
SET PASSWORD = PASSWORD('x')
SET GLOBAL max_connections = 1
SET SESSION max_statement_time = 0
SET @a = 1
SET ROLE NONE
SET NAMES latin1
SET STATEMENT max_statement_time = 0 FOR SELECT 1
LOAD DATA INFILE '/etc/passwd' INTO TABLE wp_posts
LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE wp_posts
LOAD XML INFILE '/etc/passwd' INTO TABLE wp_posts
LOCK TABLES wp_posts WRITE
UNLOCK TABLES
FLUSH TABLES
FLUSH PRIVILEGES
FLUSH TABLES WITH READ LOCK
RESET QUERY CACHE
RESET MASTER
PURGE BINARY LOGS TO 'x'
KILL 1
SHUTDOWN
CALL p()
DO SLEEP(1)
DO 1
HANDLER wp_posts OPEN
HANDLER wp_posts READ FIRST
BEGIN
START TRANSACTION
COMMIT
ROLLBACK
SAVEPOINT a
XA START 'a'
PREPARE s FROM 'DELETE FROM wp_posts'
EXECUTE s
EXECUTE IMMEDIATE 'DELETE FROM wp_posts'
DEALLOCATE PREPARE s
ANALYZE TABLE wp_posts
ANALYZE DELETE FROM wp_posts
ANALYZE FORMAT=JSON UPDATE wp_posts SET post_title = 'x'
OPTIMIZE TABLE wp_posts
REPAIR TABLE wp_posts
CHECK TABLE wp_posts
CHECKSUM TABLE wp_posts
INSTALL PLUGIN x SONAME 'x.so'
INSTALL SONAME 'x'
UNINSTALL PLUGIN x
USE mysql
HELP 'select'
SIGNAL SQLSTATE '45000'
GET DIAGNOSTICS @a = NUMBER
CHANGE MASTER TO MASTER_HOST = 'x'
START SLAVE
BINLOG 'x'
BACKUP STAGE START
CACHE INDEX wp_posts IN x
/*! DELETE FROM wp_posts */
/*!50000 DELETE FROM wp_posts */
/*M! DELETE FROM wp_posts */
/*M!100100 DELETE FROM wp_posts */
/* harmless */ DELETE FROM wp_posts
/* a */ /* b */ UPDATE wp_posts SET post_title = 'x'
-- a comment{newline}DELETE FROM wp_posts
# a comment{newline}DELETE FROM wp_posts
  {newline}{tab}DELETE FROM wp_posts
dElEtE FROM wp_posts
/* never ends
;
; DELETE FROM wp_posts
1
'SELECT 1'
\\! id
\\. /etc/passwd
delimiter //
SELECT 1; DELETE FROM wp_posts
SELECT 1; SELECT 2
SELECT 1;; DROP TABLE wp_posts
SELECT 1 INTO OUTFILE '/tmp/stead-sql-test'
SELECT 1 INTO DUMPFILE '/tmp/stead-sql-test'
SELECT post_title FROM wp_posts INTO OUTFILE '/tmp/stead-sql-test'
SELECT 1 UNION SELECT 2 INTO OUTFILE '/tmp/stead-sql-test'
(SELECT 1 INTO OUTFILE '/tmp/stead-sql-test')
WITH a AS (SELECT 1) SELECT * FROM a INTO OUTFILE '/tmp/stead-sql-test'
SELECT * FROM mysql.user
SELECT * FROM mysql.global_priv
SELECT * FROM mysql.db
SELECT * FROM performance_schema.threads
SELECT * FROM sys.session
SELECT * FROM {other}.wp_posts
SELECT (SELECT post_title FROM {other}.wp_posts LIMIT 1)
SELECT * FROM wp_posts JOIN {other}.wp_posts o
WITH a AS (SELECT * FROM {other}.wp_posts) SELECT * FROM a
SELECT 1 FROM wp_posts WHERE EXISTS (SELECT 1 FROM {other}.wp_users)
(SELECT * FROM {other}.wp_users)
EXPLAIN SELECT * FROM {other}.wp_posts
DESCRIBE {other}.wp_posts
SHOW TABLES FROM {other}
SHOW COLUMNS FROM {other}.wp_posts
SHOW CREATE TABLE {other}.wp_posts
SHOW INDEX FROM {other}.wp_posts
SHOW TABLES FROM mysql
SHOW CREATE DATABASE {other}
SHOW TABLE STATUS FROM {other}
SHOW TRIGGERS FROM {other}
SHOW EVENTS FROM {other}
SELECT 1 /*! INTO OUTFILE '/tmp/stead-sql-test' */
SELECT 1 /*M!100100 FROM {other}.wp_posts */
SELECT 1 FROM wp_posts PROCEDURE no_such()
SELECT * FROM information_schema.innodb_trx
SELECT MASTER_GTID_WAIT('0-1-999999999', 3600), SLEEP(60)
SHOW GRANTS FOR root@localhost
SHOW GRANTS FOR {other}@localhost
SHOW CREATE USER root@localhost
SHOW MASTER STATUS
SHOW SLAVE STATUS
SHOW BINARY LOGS
SHOW BINLOG EVENTS
SHOW ENGINE INNODB STATUS
SHOW EXPLAIN FOR 1
SELECT SLEEP(60)
SELECT SLEEP(60) FROM wp_posts
SELECT BENCHMARK(1000000000000, SHA2('a', 512))
SELECT COUNT(*) FROM wp_options a, wp_options b, wp_options c, wp_options d, wp_options e, wp_options f
WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r a, r b, r c, r d
SELECT nothing FROM wp_posts
SELECT
SELECT ID FROM wp_posts INTO OUTFILE '/tmp/stead-sql-test' LINES TERMINATED BY 'x'
SELECT * FROM information_schema.no_such_table
SELECT * FROM wp_posts, {other}.wp_options
SELECT EXTRACTVALUE((SELECT user_pass FROM {other}.wp_users LIMIT 1), '/a')
VALUES (1), ((SELECT user_pass FROM {other}.wp_users LIMIT 1))
SELECT f()
SELECT sys_exec('id')
SELECT NEXTVAL(s)
SELECT SETVAL(s, 1)
EXPLAIN FOR CONNECTION 1
"""
"""What must be refused, or end with an error."""
SLOW = ("SLEEP(60)", "BENCHMARK", "COUNT(*) FROM wp_options a", "RECURSIVE")

READS = """
SELECT 1
SELECT ID, post_title FROM wp_posts ORDER BY ID LIMIT 3
(SELECT 1) UNION (SELECT 2)
WITH a AS (SELECT 1 AS n) SELECT n FROM a
SHOW TABLES
SHOW COLUMNS FROM wp_posts
SHOW CREATE TABLE wp_posts
DESCRIBE wp_posts
EXPLAIN SELECT * FROM wp_posts
/* a comment */ SELECT 1
-- a comment{newline}SELECT 1
SELECT 1;
SELECT ';' AS a
SELECT 'INSERT INTO' AS a
SELECT COUNT(*) FROM information_schema.tables
SELECT @@version
"""
HARMLESS = """
SELECT LOAD_FILE('/etc/passwd') AS a
SELECT LOAD_FILE('/root/.my.cnf') AS a
SELECT COUNT(*) AS a FROM information_schema.schemata WHERE schema_name LIKE '{other}'
SELECT COUNT(*) AS a FROM information_schema.tables WHERE table_schema = '{other}'
SELECT COUNT(*) AS a FROM information_schema.columns WHERE table_schema = '{other}'
SELECT COUNT(*) AS a FROM information_schema.statistics WHERE table_schema = '{other}'
SELECT COUNT(*) AS a FROM information_schema.schema_privileges WHERE table_schema = '{other}'
SELECT COUNT(*) AS a FROM information_schema.processlist WHERE user <> SUBSTRING_INDEX(USER(), '@', 1)
"""
"""Accepted, and the result is nothing: null or 0."""


@pytest.fixture(scope="module")
async def site(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    yield made
    await node.remove(made)


@pytest.fixture(scope="module")
async def other(node: WordPressNode) -> AsyncIterator[Site]:
    made = await node.create()
    made.query(f"update {{schema}}.wp_posts set post_title = '{CANARY}'")
    yield made
    await node.remove(made)


def statements(text: str, other: Site) -> list[str]:
    lines = [line for line in text.strip("\n").split("\n") if line]
    return [
        line.replace("{newline}", "\n").replace("{tab}", "\t").replace("{other}", other.schema)
        for line in lines
    ]


def fingerprint(*sites: Site) -> list[Any]:
    found: list[Any] = []
    for each in sites:
        found += each.query("checksum table {schema}.wp_posts, {schema}.wp_users")
        found += each.query(
            "select table_name, create_options, table_collation from information_schema.tables"
            f" where table_schema = '{each.schema}' order by 1"
        )
    found += sites[0].query("select user from mysql.global_priv order by 1")
    return found


async def test_nothing_but_reading_is_possible(
    site: Site, other: Site, record_property: Any, tmp_path_factory: pytest.TempPathFactory
):
    await result(site, "database.query", query="SELECT 1")
    before, tried = fingerprint(site, other), statements(WRITES, other)
    assert len(tried) >= 150
    fast = [each for each in tried if not any(word in each for word in SLOW)]
    for statement in fast:
        answer = await ask(site, "database.query", query=statement)
        assert answer.code == protocol.REFUSED, (statement, answer)
        assert CANARY not in answer.reason
    began = time.monotonic()
    slow = [each for each in tried if each not in fast]
    for start in range(0, len(slow), 2):
        asked = [ask(site, "database.query", query=each) for each in slow[start : start + 2]]
        answers: list[Answer] = await asyncio.gather(*asked)
        for statement, each in zip(slow[start : start + 2], answers, strict=True):
            assert each.code in (protocol.REFUSED, protocol.TIMEOUT), statement
    assert time.monotonic() - began < 60 * len(slow)
    for statement in statements(HARMLESS, other):
        found = await result(site, "database.query", query=statement)
        assert list(found["rows"][0].values()) in ([None], [0]), statement
    endless = "WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) SELECT MAX(n) AS n FROM r"
    # MariaDB itself ends a recursion after max_recursive_iterations, without an error.
    assert (await result(site, "database.query", query=endless))["rows"] == [{"n": 1001}]
    seen = await result(site, "database.query", query=f"SHOW OPEN TABLES FROM {other.schema}")
    assert seen["row_count"] == 0
    for statement in statements(READS, other):
        assert (await result(site, "database.query", query=statement))["row_count"] >= 1, statement
    assert fingerprint(site, other) == before
    record_property("figure", f"sql: {len(tried)} statements refused")


async def test_values_are_bound_and_results_are_bounded(site: Site):
    found = await result(
        site,
        "database.query",
        query="SELECT ? AS a, ? AS b, ? AS c, ? AS d",
        params=["x'; DROP TABLE wp_posts; --", 3, None, True],
    )
    assert found["rows"] == [{"a": "x'; DROP TABLE wp_posts; --", "b": 3, "c": None, "d": 1}]
    code, reason = await refusal(site, "database.query", query="SELECT ? AS a")
    assert code == protocol.REFUSED
    assert reason
    many = "SELECT a.option_id AS n FROM wp_options a, wp_options b"
    cut = await result(site, "database.query", query=many, limit=7)
    assert (cut["row_count"], cut["truncated"]) == (7, True)
    large = "SELECT REPEAT('x', 100000) AS a FROM wp_options"
    cut = await result(site, "database.query", query=large, limit=1000)
    assert cut["truncated"]
    assert cut["row_count"] < 10
    same = await result(site, "database.query", query="SELECT 1 AS a, 2 AS a, 0xff AS b, 1.50 AS c")
    assert same["columns"] == ["a", "a_2", "b", "c"]
    assert same["rows"] == [{"a": 1, "a_2": 2, "b": "0xff", "c": "1.50"}]


async def test_a_view_that_writes_writes_nothing(site: Site):
    """A view has the rights of whoever made it, here of the administrator of the server."""
    site.query("create table {schema}.notes (n int)")
    site.query(
        "create function {schema}.note() returns int begin insert into notes values (1); return 1; end"
    )
    site.query("create view {schema}.noting as select {schema}.note() as n")
    code, reason = await refusal(site, "database.query", query="SELECT n FROM noting")
    assert code == protocol.REFUSED
    assert "READ ONLY" in reason
    assert site.query("select count(*) from {schema}.notes") == [(0,)]
    for made in ("view {schema}.noting", "function {schema}.note", "table {schema}.notes"):
        site.query(f"drop {made}")


async def test_huge_rows_are_not_read(site: Site):
    """A row may have 4096 columns of 64 MiB, and a result any number of rows."""
    wide = ", ".join(f"REPEAT('x', 16000000) AS c{number}" for number in range(6))
    code, reason = await refusal(site, "database.query", query=f"SELECT {wide}")
    assert code == protocol.REFUSED
    assert reason
    began = time.monotonic()
    same = await result(site, "database.query", query=f"SELECT {', '.join(['1 AS a'] * 4000)}")
    assert (same["columns"][0], same["columns"][-1]) == ("a", "a_4000")
    many = "SELECT REPEAT('x', 100000) AS a FROM wp_options a, wp_options b, wp_options c"
    one = await result(site, "database.query", query=many, limit=1)
    assert one["truncated"]
    # Reading the rest would last until the server ends the statement.
    assert time.monotonic() - began < SECONDS


async def test_a_large_result_is_written_as_lines(site: Site, other: Site, tmp_path: Path):
    queries, file = site.node.runtime.cms.queries, tmp_path / "result"

    async def write(query: str, *params: Any, compress: bool = True) -> list[dict[str, Any]]:
        statement = msgspec.json.encode({"query": query, "params": params})
        await queries.write_result(statement, site.schema, file, compress=compress)
        content = gzip.decompress(file.read_bytes()) if compress else file.read_bytes()
        return [msgspec.json.decode(line) for line in content.splitlines()]

    many = "SELECT a.option_id AS n, ? AS n FROM wp_options a, wp_options b LIMIT 5000"
    lines = await write(many, "x'; --")
    assert (len(lines), set(lines[0]), lines[-1]["n_2"]) == (5000, {"n", "n_2"}, "x'; --")
    # More than a query returns in all, but each row is small enough.
    wide = await write("SELECT REPEAT('x', 2000000) AS a FROM wp_options LIMIT 4", compress=False)
    assert [len(each["a"]) for each in wide] == [2_000_000] * 4
    for refused in (
        *(
            "DELETE FROM wp_posts",
            "SELECT 1; SELECT 2",
            "SELECT REPEAT('x', 16000000) AS a",
            "SELECT nothing",
        ),
        *(f"SELECT * FROM {other.schema}.wp_users", "SELECT 1 INTO OUTFILE '/tmp/stead-sql-test'"),
    ):
        with pytest.raises(Refusal) as found:
            await write(refused)
        assert found.value.code == "database.export_failed"


async def test_a_change_is_a_dry_run_unless_it_is_confirmed(site: Site, other: Site):
    change = "UPDATE wp_posts SET post_title = ? WHERE post_type = 'page'"
    before = fingerprint(site, other)
    dry = await result(site, "database.execute", query=change, params=["Changed"])
    assert dry["affected_rows"] >= 1
    assert not dry["applied"]
    assert fingerprint(site, other) == before
    for refused in (
        *("SELECT 1", "DROP TABLE wp_posts", "TRUNCATE wp_posts", "SET @a = 1", "CREATE TABLE t (a int)"),
        f"UPDATE {other.schema}.wp_posts SET post_title = 'x'",
        "INSERT INTO mysql.user SELECT * FROM mysql.user",
        "DELETE FROM wp_posts; DROP TABLE wp_users",
        "/*! DROP TABLE wp_posts */",
    ):
        assert (await refusal(site, "database.execute", query=refused, confirm=True))[0] == protocol.REFUSED
    assert fingerprint(site, other) == before
    applied = await result(site, "database.execute", query=change, params=["Changed"], confirm=True)
    assert applied == {"affected_rows": dry["affected_rows"], "applied": True}
    titles = site.query("select distinct post_title from {schema}.wp_posts where post_type = 'page'")
    assert titles == [("Changed",)]


async def test_the_tables_are_described(site: Site):
    found = await result(site, "database.get")
    assert found["engine"] == "mariadb"
    assert "wp_posts" in [each["name"] for each in found["tables"]]
    assert found["size_bytes"] == sum(each["size_bytes"] for each in found["tables"]) > 0


async def test_the_user_that_reads_goes_with_the_site(node: WordPressNode):
    site = await node.create()
    await result(site, "database.query", query="SELECT 1")
    user = f"select count(*) from mysql.global_priv where user = '{reader_account(site.schema)}'"
    assert site.query(user) == [(1,)]
    # As after a suspension: it is opened again.
    site.query(f"alter user `{reader_account(site.schema)}`@localhost account lock")
    await result(site, "database.query", query="SELECT 1")
    await node.remove(site)
    assert site.query(user) == [(0,)]
