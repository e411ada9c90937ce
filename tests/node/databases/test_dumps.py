"""A schema is dumped while it is used, and loaded into another one, which has the same rows and nothing that
a hostile dump would do."""

import asyncio
import tempfile
import threading
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

import pytest

from stead.node.databases.dumps import ATTEMPTS, DumpFailed, dump, is_complete
from stead.node.databases.loading import LineChecker, LoadFailed, load
from stead.node.databases.names import schema_name, split_schema_name
from stead.node.processes import Processes, Run, Sink
from stead.node.progress import Progress
from stead.shared.ids import EnvironmentId
from tests.node.databases.harness import DatabaseHarness, Tenant
from tests.node.driver_pairs import CapturedOutput

RUN = Processes("dump-tests").run
GB = 1 << 30
TRACE = Path(tempfile.gettempdir()) / "stead-dump-was-here"
SERIALIZED = 'a:1:{s:3:"url";s:24:"https://blog.example.com";}'


class Copy:
    """A second dataset of the environment of a tenant."""

    def __init__(self, bench: DatabaseHarness, tenant: Tenant, file: Path) -> None:
        self.bench, self.tenant, self.file, self.password = bench, tenant, file, token_hex(16)
        self.schema = schema_name(tenant.environment, "copy1")
        self.output = CapturedOutput()

    async def dump(self, **options: int) -> None:
        progress = Progress(self.output, "database", 0)
        await dump(
            RUN,
            self.bench.server.socket,
            self.tenant.environment,
            self.file,
            progress,
            options.get("max_bytes", GB),
        )

    async def load(self) -> Tenant:
        await self.bench.databases.drop(self.tenant.environment, "copy1")
        await self.bench.databases.create(self.tenant.environment, self.password, dataset="copy1")
        progress = Progress(self.output, "database", 0)
        await load(RUN, self.bench.server.socket, self.schema, self.password, self.file, progress)
        return Tenant(self.bench.server.socket, EnvironmentId(self.schema), self.password)


@pytest.fixture(scope="module")
async def tenant(bench: DatabaseHarness) -> Tenant:
    """A schema with everything that WordPress and its plugins put into one."""
    made = await bench.tenant()
    for statement in (
        "CREATE TABLE wp_options (id INT PRIMARY KEY AUTO_INCREMENT, name VARCHAR(191), value LONGTEXT)",
        "CREATE TABLE wp_blobs (id INT PRIMARY KEY, data LONGBLOB)",
        "CREATE TABLE wp_counters (id INT PRIMARY KEY, first INT, second INT)",
        "CREATE TABLE wp_log (id INT PRIMARY KEY AUTO_INCREMENT, name TEXT)",
        "CREATE TABLE `odd ``name; USE mysql` (`a;b` INT COMMENT 'one\\ntwo')",
        "CREATE VIEW wp_names AS SELECT name FROM wp_options",
        "CREATE TRIGGER wp_note AFTER INSERT ON wp_options FOR EACH ROW"
        " INSERT INTO wp_log (name) VALUES (NEW.name)",
        "INSERT INTO wp_counters VALUES (1, 0, 0)",
    ):
        made.query(statement)
    with made.connect() as connection, connection.cursor() as cursor:
        rows = [("serialized", SERIALIZED), ("emoji", "zwölf 🦊\r\n\\! id\n-- Dump completed\n\0")]
        cursor.executemany("INSERT INTO wp_options (name, value) VALUES (%s, %s)", rows)
        cursor.execute("INSERT INTO wp_blobs VALUES (1, %s)", [bytes(range(256)) * 1000])
    return made


@pytest.fixture
def copy(bench: DatabaseHarness, tenant: Tenant, tmp_path: Path) -> Copy:
    return Copy(bench, tenant, tmp_path / "dump.sql")


def _tables(tenant: Tenant) -> dict[str, object]:
    names = ("wp_options", "wp_blobs", "wp_log", "wp_names", "odd ``name; USE mysql")
    return {name: tenant.query(f"SELECT * FROM `{name}`") for name in names}


async def test_a_loaded_dump_has_every_row_view_and_trigger_and_no_user_of_the_original(
    copy: Copy, bench: DatabaseHarness, tenant: Tenant
) -> None:
    await copy.dump()
    loaded = await copy.load()
    assert _tables(loaded) == _tables(tenant)
    assert await bench.databases.list_datasets(tenant.environment) == ["", "copy1"]
    # The view and the trigger work with the rights of the new user, and say nothing about the old one.
    loaded.query("INSERT INTO wp_options (name, value) VALUES ('new', '')")
    assert loaded.query("SELECT name FROM wp_log ORDER BY id DESC LIMIT 1") == [("new",)]
    assert tenant.query("SELECT name FROM wp_options WHERE name = 'new'") == []
    definition = str(loaded.query("SHOW CREATE VIEW wp_names"))
    assert f"`{tenant.environment}`@" not in definition
    with pytest.raises(Exception, match="denied"):
        loaded.query(f"SELECT * FROM `{tenant.environment}`.wp_options")


async def test_a_schema_with_invalid_views_sequences_and_wordy_triggers_is_copied(
    bench: DatabaseHarness, tmp_path: Path
) -> None:
    tenant = await bench.tenant()
    for statement in (
        "CREATE TABLE wp_gone (id INT)",
        "CREATE VIEW `wp_of gone.x` AS SELECT id FROM wp_gone",
        "CREATE VIEW wp_of_view AS SELECT id FROM `wp_of gone.x`",
        "CREATE SEQUENCE wp_numbers START WITH 7",
        "CREATE TABLE wp_orders (id BIGINT DEFAULT NEXTVAL(wp_numbers) PRIMARY KEY, name TEXT)",
        "CREATE VIEW wp_order_names AS SELECT name FROM wp_orders",
        "CREATE TRIGGER wp_words BEFORE INSERT ON wp_orders FOR EACH ROW BEGIN\n/*\nuse the new name\n"
        "GRANT it\n*/\nDECLARE CONTINUE\nHANDLER FOR 1062 SET NEW.name = 'twice';\n"
        "SET NEW.name = UPPER(NEW.name);\nEND",
        "INSERT INTO wp_orders (name) VALUES ('first')",
        "DROP TABLE wp_gone",
    ):
        tenant.query(statement)
    copy = Copy(bench, tenant, tmp_path / "dump.sql")
    await copy.dump()
    loaded = await copy.load()
    loaded.query("INSERT INTO wp_orders (name) VALUES ('second')")
    rows = loaded.query("SELECT name FROM wp_orders ORDER BY id")
    assert rows == loaded.query("SELECT * FROM wp_order_names") == [("FIRST",), ("SECOND",)]
    assert tenant.query("SELECT COUNT(*) FROM wp_orders") == [(1,)]
    assert loaded.query("SHOW TABLES LIKE 'wp_of%'") == []
    for view in ("wp_of gone.x", "wp_of_view"):
        assert f"the view '{view}' is left out" in " ".join(copy.output.lines)
    for dataset in ("", "copy1"):
        await bench.databases.drop(tenant.environment, dataset)


@contextmanager
def _changing(tenant: Tenant, statements: list[str]) -> Iterator[None]:
    ended = threading.Event()

    def change() -> None:
        with tenant.connect() as connection, connection.cursor() as cursor:
            while not ended.is_set():
                for statement in statements:
                    cursor.execute(statement)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


async def test_a_dump_sees_all_tables_at_one_moment(copy: Copy, tenant: Tenant) -> None:
    tenant.query("CREATE TABLE IF NOT EXISTS wp_z_counters (id INT PRIMARY KEY, third INT)")
    tenant.query("REPLACE INTO wp_z_counters VALUES (1, 0)")
    tenant.query("UPDATE wp_counters SET first = 0")
    both = (
        "UPDATE wp_counters JOIN wp_z_counters USING (id)"
        " SET first = first + 1, third = third + 1 WHERE id = 1"
    )
    with _changing(tenant, [both]):
        await copy.dump()
    loaded = await copy.load()
    ((first, third),) = loaded.query("SELECT first, third FROM wp_counters JOIN wp_z_counters USING (id)")
    assert first == third


async def test_a_dump_begins_again_when_a_table_is_changed_and_fails_after_some_attempts(
    copy: Copy, tenant: Tenant
) -> None:
    def changing(times: int) -> Run:
        """The first runs end as MariaDB ends them when a table is altered."""
        remaining = [times]

        async def run(argv: Sequence[str], sink: Sink, **more: Any) -> int:
            if remaining[0] == 0:
                return await RUN(argv, sink, **more)
            remaining[0] -= 1
            await sink("stderr", b"mariadb-dump: Error 1412: Table definition has changed")
            return 3

        return run

    def attempt(run: Run) -> Coroutine[Any, Any, None]:
        progress = Progress(copy.output, "database", 0)
        return dump(run, copy.bench.server.socket, tenant.environment, copy.file, progress, GB)

    await attempt(changing(ATTEMPTS - 1))
    assert is_complete(copy.file)
    with pytest.raises(DumpFailed, match="1412"):
        await attempt(changing(ATTEMPTS))


async def test_a_dump_that_is_too_large_or_of_no_schema_fails_and_an_incomplete_one_is_not_loaded(
    copy: Copy, bench: DatabaseHarness
) -> None:
    with pytest.raises(DumpFailed, match="larger"):
        await copy.dump(max_bytes=10)
    await copy.dump()
    complete = copy.file.read_bytes()
    copy.file.write_bytes(complete[:-40])
    with pytest.raises(LoadFailed, match="no end"):
        await copy.load()
    progress = Progress(copy.output, "database", 0)
    with pytest.raises(DumpFailed):
        await dump(RUN, bench.server.socket, "env_missing", copy.file, progress, GB)


HOSTILE = (
    "USE mysql;",
    "use `mysql`;",
    "/*!40000 DROP DATABASE IF EXISTS `x`*/;",
    "CREATE DATABASE x;",
    "/*M!100100 GRANT ALL ON *.* TO x */;",
    "CREATE DEFINER=`root`@`localhost` VIEW v AS SELECT 1;",
    f"\\! touch {TRACE}",
    f"system touch {TRACE}",
    "\\. /etc/passwd",
    "SELECT * FROM mysql.global_priv;",
    "INSERT INTO mysql.global_priv VALUES ('a', 'b', '{}');",
    "SET GLOBAL max_connections = 1;",
    "LOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE wp_log (name);",
    f"SELECT 1 INTO OUTFILE '{TRACE}';",
    "CREATE FUNCTION f() RETURNS INT RETURN 1;",
    "DELIMITER ;;\nCREATE EVENT e ON SCHEDULE EVERY 1 SECOND DO SELECT 1;;",
    "KILL 1; SHUTDOWN;",
    # Where the body of a trigger is expected, the rights of the user decide.
    "DELIMITER ;;\nUSE mysql;;",
    "DELIMITER ;;\nGRANT SELECT ON mysql.* TO CURRENT_USER;;",
    "DELIMITER ;;\nCREATE DATABASE x;;",
    "DELIMITER ;;\nSET GLOBAL max_connections = 1;;",
    "DELIMITER ;;\nLOAD DATA LOCAL INFILE '/etc/passwd' INTO TABLE t;;",
    "DELIMITER ;;\nLOAD DATA INFILE '/etc/passwd' INTO TABLE t;;",
    "DELIMITER ;;\nCREATE FUNCTION f() RETURNS INT RETURN 1;;",
    "DELIMITER ;;\nCREATE DEFINER=`root`@`localhost` TRIGGER t AFTER INSERT ON t FOR EACH ROW SET @a = 1;;",
    "DELIMITER ;;\nHANDLER mysql.global_priv OPEN;;",
)


async def test_a_hostile_statement_ends_the_load_and_does_nothing(copy: Copy) -> None:
    for statement in HOSTILE:
        copy.file.write_text(f"CREATE TABLE t (id INT);\n{statement}\n-- Dump completed\n")
        with pytest.raises(LoadFailed):
            await copy.load()
        assert not TRACE.exists(), statement


def test_users_of_views_and_triggers_are_left_out_and_rows_are_not_changed() -> None:
    checker = LineChecker()
    view = b"/*!50013 DEFINER=`a`@`localhost` SQL SECURITY DEFINER */\n"
    assert checker.check(view) == b"/*!50013 SQL SECURITY INVOKER */\n"
    trigger = b"/*!50003 CREATE*/ /*!50017 DEFINER=`a``b`@`localhost`*/ /*!50003 TRIGGER t AFTER\n"
    checker.check(b"DELIMITER ;;\n")
    assert checker.check(trigger) == b"/*!50003 CREATE*/ /*!50003 TRIGGER t AFTER\n"
    checker.check(b"DELIMITER ;\n")
    row = b"(1,'/*!50013 DEFINER=`a`@`localhost` SQL SECURITY DEFINER */'),\n"
    assert checker.check(row) == row


async def test_a_cancelled_load_ends_its_program(copy: Copy) -> None:
    rows = "".join(f"INSERT INTO t VALUES ({number});\n" for number in range(200_000))
    copy.file.write_text(f"CREATE TABLE t (id INT);\n{rows}-- Dump completed\n")
    loading = asyncio.create_task(copy.load())
    await asyncio.sleep(0.3)
    loading.cancel()
    await asyncio.wait({loading}, timeout=20)
    assert loading.cancelled()
    await copy.bench.databases.drop(copy.tenant.environment, "copy1")


def test_only_names_of_datasets_become_names_of_schemas(tenant: Tenant) -> None:
    environment = tenant.environment
    for name in ("A", "a_b", "a`b", "../x", "a" * 27, "ä"):
        with pytest.raises(ValueError, match="dataset"):
            schema_name(environment, name)
    assert split_schema_name(schema_name(environment, "abc")) == (environment, "abc")
    assert split_schema_name(environment) == (environment, "")
    for other in ("mysql", "env_x", f"{environment}_", f"{environment}_A", f"{environment}_a_b"):
        assert split_schema_name(other) is None


async def test_a_table_whose_name_is_an_option_is_only_a_table(
    bench: DatabaseHarness, tmp_path: Path
) -> None:
    """Customers choose which tables are exported, and what their tables are called."""
    tenant, file, name = await bench.tenant(), tmp_path / "dump.sql", "--no-create-info"
    tenant.query(f"CREATE TABLE `{name}` (a INT)")
    tenant.query("CREATE TABLE other (a INT)")
    progress = Progress(CapturedOutput(), "database")
    await dump(RUN, bench.server.socket, tenant.environment, file, progress, GB, tables=[name])
    assert f"CREATE TABLE `{name}`" in file.read_text()
    assert "other" not in file.read_text()
