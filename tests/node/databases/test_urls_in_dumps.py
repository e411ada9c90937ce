"""The host of URLs is replaced while a dump is loaded, exactly as it would be replaced in its tables. What is
not certain to be right is left for afterwards."""

import itertools
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from secrets import token_hex

import pytest

from stead.node.databases import loading
from stead.node.databases.dumps import dump
from stead.node.databases.loading import ChangeLine, load
from stead.node.processes import Processes
from stead.node.progress import Progress
from stead.node.wordpress import database_urls, dump_urls
from stead.node.wordpress.database_urls import DatabaseCounts, replace_in_schema
from stead.node.wordpress.dump_urls import DumpUrls
from stead.node.wordpress.url_replacement import UrlReplacement
from stead.shared.ids import EnvironmentId
from tests.node.databases.harness import DatabaseHarness, Tenant
from tests.node.driver_pairs import CapturedOutput
from tests.node.wordpress import serialized_shapes as shapes

RUN = Processes("dump-url-tests").run
REPLACEMENT = UrlReplacement.between(["site.test"], "staging.site.test")
OLD, NEW = "https://site.test/", "https://staging.site.test/"

FINISHED = (
    "CREATE TABLE wp_posts (ID BIGINT UNSIGNED PRIMARY KEY AUTO_INCREMENT,"
    " guid VARCHAR(255) NOT NULL DEFAULT '', post_content LONGTEXT NOT NULL COMMENT 'it''s `a`,\\n (b)',"
    " price DECIMAL(10,2) DEFAULT -1.50,"
    " kind ENUM('a', 'b,c)') DEFAULT 'a', flags BIT(3) DEFAULT b'101', position POINT, weight FLOAT,"
    " changed TIMESTAMP(3) DEFAULT '2020-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP(3), KEY (guid(10) DESC),"
    " FULLTEXT KEY (post_content)) COMMENT 'posts; of (all)'",
    "INSERT INTO wp_posts (ID, guid, post_content, position, weight) VALUES"
    f" (0, '{OLD}?p=1', 'a {OLD} ü🦊', POINT(1, 2), 1e30), (2, '{OLD}', '', NULL, NULL),"
    " (3, '', 'x', NULL, -0.5)",
    "CREATE TABLE `odd ``name %(` (`a,'` VARCHAR(40) PRIMARY KEY, `b) ``` TEXT CHARACTER SET latin1)",
    f"INSERT INTO `odd ``name %(` VALUES ('{OLD}', 'é {OLD}'), ('z', NULL), ('y', 's:9:\"{OLD}\";')",
    "CREATE TABLE wp_blogs (blog_id INT PRIMARY KEY, domain VARCHAR(200))",
    "INSERT INTO wp_blogs VALUES (1, 'SITE.test'), (2, 'other.test'), (3, 'x site.test')",
    "CREATE TABLE blobs (id INT PRIMARY KEY, b LONGBLOB, c VARBINARY(60), d BINARY(30))",
    f"INSERT INTO blobs VALUES (1, CONCAT(x'0012', '{OLD}'), '{OLD}', '{OLD}'), (2, '{OLD}', '', NULL),"
    f" (3, '', 'x', ''), (4, 'a:1:{{i:0;s:20:\"{OLD}ÿ\";}}', NULL, NULL)",
    # Rows can be found without a key here.
    "CREATE TABLE without_key (v TEXT)",
    f"INSERT INTO without_key VALUES ('{OLD}'), ('{OLD}')",
    "CREATE TABLE by_float (f FLOAT PRIMARY KEY, v TEXT)",
    f"INSERT INTO by_float VALUES (1.1, '{OLD}')",
    # The new values have just enough room.
    "CREATE TABLE exact (id INT PRIMARY KEY, c CHAR(26), v VARCHAR(27), t TINYTEXT, u VARCHAR(60) UNIQUE)",
    f"INSERT INTO exact VALUES (1, '{OLD}', '{OLD}ü', CONCAT('{OLD}', REPEAT('x', 229)), 'site.test')",
    "CREATE TABLE noted (v TEXT)",
)
LATER = (
    "CREATE TABLE narrow (id INT PRIMARY KEY, v VARCHAR(20), t TINYTEXT)",
    f"INSERT INTO narrow VALUES (1, '{OLD}', 'x'), (2, '', CONCAT('{OLD}', REPEAT('x', 230))),"
    f" (3, '', '{OLD}')",
    "CREATE TABLE `unique` (id INT PRIMARY KEY, u VARCHAR(60), v TEXT, UNIQUE KEY (u(40)))",
    f"INSERT INTO `unique` VALUES (1, '{OLD}', '{OLD}'), (2, '{NEW}', 's:1:\"{OLD}\";'), (3, '', '{OLD}')",
    "CREATE TABLE generated (id INT PRIMARY KEY, v TEXT, first CHAR(30) AS (LEFT(v, 30)) STORED)",
    f"INSERT INTO generated (id, v) VALUES (1, '{OLD}')",
    "CREATE TABLE hidden (id INT PRIMARY KEY, v TEXT, w TEXT INVISIBLE)",
    f"INSERT INTO hidden (id, v, w) VALUES (1, '{OLD}', '{OLD}')",
    "CREATE TABLE checked (id INT PRIMARY KEY, v TEXT CHECK (v <> 'x'), j JSON)",
    f"INSERT INTO checked VALUES (1, '{OLD}', '[\"{OLD}\"]')",
    "CREATE TABLE child (id INT PRIMARY KEY, v TEXT, CONSTRAINT f FOREIGN KEY (id) REFERENCES narrow (id))",
    f"INSERT INTO child VALUES (1, '{OLD}')",
    # MariaDB would load these rows without comparing them.
    "CREATE TABLE parent (id INT PRIMARY KEY, u VARCHAR(60), v TEXT, KEY (u))",
    f"INSERT INTO parent VALUES (1, '{OLD}', '{OLD}'), (2, 'x', '{OLD}')",
    "CREATE TABLE son (id INT PRIMARY KEY, u VARCHAR(60), FOREIGN KEY (u) REFERENCES parent (u))",
    f"INSERT INTO son VALUES (1, '{OLD}')",
    "CREATE TABLE parts (id INT PRIMARY KEY, v TEXT) PARTITION BY HASH (id) PARTITIONS 2",
    f"INSERT INTO parts VALUES (1, '{OLD}')",
    "CREATE TABLE versioned (id INT PRIMARY KEY, v TEXT) WITH SYSTEM VERSIONING",
    f"INSERT INTO versioned VALUES (1, '{OLD}')",
    "CREATE TABLE wide (id INT PRIMARY KEY, v TEXT CHARACTER SET utf16)",
    f"INSERT INTO wide VALUES (1, '{OLD}')",
    "CREATE TABLE packed (id INT PRIMARY KEY, v TEXT) ROW_FORMAT = COMPACT",
    f"INSERT INTO packed VALUES (1, '{OLD}')",
    "CREATE TABLE by_default (id INT PRIMARY KEY, v TEXT, u VARCHAR(40) DEFAULT UUID())",
    f"INSERT INTO by_default VALUES (1, '{OLD}', '')",
    "CREATE TABLE `in two\nINSERT INTO` (id INT PRIMARY KEY, `v\n(` TEXT)",
    f"INSERT INTO `in two\nINSERT INTO` VALUES (1, '{OLD}')",
)
TRIGGER = (
    "CREATE TRIGGER note BEFORE UPDATE ON wp_blogs FOR EACH ROW BEGIN\n"
    f"INSERT INTO `noted` VALUES\n('{OLD}');\nEND"
)


class Copies:
    """A schema, and what it becomes when URLs are replaced in one way or the other."""

    def __init__(self, bench: DatabaseHarness, tenant: Tenant, file: Path) -> None:
        self.bench, self.tenant, self.file, self.urls = bench, tenant, file, DumpUrls(REPLACEMENT)
        self.changed = tenant

    async def compare(self) -> tuple[DatabaseCounts, DatabaseCounts]:
        """Returns what was counted with the rows of the dump changed, and without. All tables are the same
        except those without a primary key, and what a trigger has done."""
        socket, progress = self.bench.server.socket, Progress(CapturedOutput(), "database")
        await dump(RUN, socket, self.tenant.environment, self.file, progress, 1 << 30)
        self.changed = await self._load("changed", self.urls.change_line)
        counts = replace_in_schema(socket, self.changed.environment, REPLACEMENT, left_out=self.urls.finished)
        self.urls.add_counts(counts)
        plain = await self._load("plain", None)
        expected = replace_in_schema(socket, plain.environment, REPLACEMENT)
        different = (*expected.without_key, "noted")
        found, wanted = read_all(self.changed, different), read_all(plain, different)
        assert found.keys() == wanted.keys()
        for name in wanted:
            assert found[name] == wanted[name], name
        return counts, expected

    async def _load(self, dataset: str, change: ChangeLine | None) -> Tenant:
        socket, password = self.bench.server.socket, token_hex(16)
        name = await self.bench.databases.create(self.tenant.environment, password, dataset=dataset)
        progress = Progress(CapturedOutput(), "database")
        await load(RUN, socket, name, password, self.file, progress, change)
        return Tenant(socket, EnvironmentId(name), password)

    async def remove(self) -> None:
        for dataset in ("", "changed", "plain"):
            await self.bench.databases.drop(self.tenant.environment, dataset)


def read_all(tenant: Tenant, left_out: Sequence[str] = ()) -> dict[str, object]:
    names = [str(name) for (name,) in tenant.query("SHOW TABLES")]
    return {
        name: sorted(map(repr, tenant.query(f"SELECT * FROM `{name.replace('`', '``')}`")))
        for name in names
        if name not in left_out
    }


@pytest.fixture
async def copies(bench: DatabaseHarness, tmp_path: Path) -> AsyncIterator[Copies]:
    made = Copies(bench, await bench.tenant(), tmp_path / "dump.sql")
    yield made
    await made.remove()


async def test_rows_are_changed_in_a_dump_as_they_are_in_tables(copies: Copies) -> None:
    with copies.tenant.connect() as connection, connection.cursor() as cursor:
        cursor.execute("SET sql_mode = 'NO_AUTO_VALUE_ON_ZERO'")
        for statement in (*FINISHED, *LATER):
            cursor.execute(statement)
        cursor.execute(TRIGGER)
    counts, expected = await copies.compare()
    names = {_name(each) for each in FINISHED if each.startswith("CREATE")}
    assert copies.urls.finished == names
    assert (counts.without_key, expected.without_key) == ([], ["by_float", "without_key"])
    assert copies.changed.query("SELECT v FROM without_key") == [(NEW,), (NEW,)]
    assert copies.changed.query("SELECT v FROM by_float") == [(NEW,)]
    # Triggers do not run, and are not changed.
    assert copies.changed.query("SELECT * FROM noted") == []
    assert OLD in str(copies.changed.query("SHOW CREATE TRIGGER note"))
    assert (counts.rows, counts.values.urls) == (expected.rows + 3, expected.values.urls + 3)
    assert (counts.refused, counts.values.broken) == (expected.refused, expected.values.broken) == (5, 2)
    assert counts.values.unsupported == expected.values.unsupported == 2


def _name(statement: str) -> str:
    return statement.removeprefix("CREATE TABLE ").split(" (", 1)[0].strip("`").replace("``", "`")


async def test_every_character_that_a_dump_escapes_is_read_and_written_as_it_was(copies: Copies) -> None:
    tenant, pieces = copies.tenant, ["\\", "'", '"', "\n", "\r", "\0", "\x1a", "n", "0", "Z", "ü", ",("]
    tenant.query("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, v TEXT, w LONGTEXT, b BLOB)")
    values = ["".join(each) for each in itertools.product(pieces, repeat=3)]
    rows = [(f"{value}{OLD}{value}", value, f"{OLD}{value}".encode()) for value in values]
    host = "site.test"
    for shape in (shapes.follow(host, 1, host), shapes.stay(host, 1), shapes.follow_long(host)):
        rows += [("", value.decode(), b"") for value in shape.values()]
    rows += [("", "", value) for value in (*shapes.binary(host).values(), bytes(range(256)) + OLD.encode())]
    with tenant.connect() as connection, connection.cursor() as cursor:
        cursor.executemany("INSERT INTO t (v, w, b) VALUES (%s, %s, %s)", rows)
    counts, expected = await copies.compare()
    assert copies.urls.finished == {"t"}
    assert counts == expected
    assert counts.rows > len(values)


async def test_rows_that_are_too_long_are_left_to_their_tables(
    copies: Copies, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "MAX_ROW_BYTES", 2000)
    monkeypatch.setattr(loading, "_PIECE_BYTES", 500)
    for module in (database_urls, dump_urls):
        monkeypatch.setattr(module, "MAX_VALUE_BYTES", 1000)
    for name, rows in {
        "middle": f"(1, '{OLD}'), (2, CONCAT('{OLD}', REPEAT('x', 3000))), (3, '{OLD}')",
        "last": f"(1, '{OLD}'), (2, CONCAT(REPEAT('(', 3000), ' {OLD}'))",
        "harmless": f"(1, '{OLD}'), (2, REPEAT('x', 3000))",
        "long_value": f"(1, '{OLD}'), (2, CONCAT(REPEAT('x', 1500), '{OLD}'))",
    }.items():
        copies.tenant.query(f"CREATE TABLE {name} (id INT PRIMARY KEY, v TEXT)")
        copies.tenant.query(f"INSERT INTO {name} VALUES {rows}")
    counts, expected = await copies.compare()
    assert copies.urls.finished == set()
    assert counts == expected
    assert (counts.rows, counts.too_large) == (5, 3)
