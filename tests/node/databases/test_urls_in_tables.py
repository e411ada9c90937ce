"""The host of URLs is replaced in every table that has a primary key; everything else of a row stays."""

import pytest

from stead.node.wordpress import database_urls
from stead.node.wordpress.database_urls import DatabaseCounts, replace_in_schema
from stead.node.wordpress.url_replacement import UrlReplacement
from tests.node.databases.harness import DatabaseHarness, Tenant

REPLACEMENT = UrlReplacement.between(["site.test"], "staging.site.test")
OLD, NEW = "https://site.test/", "https://staging.site.test/"


def replace(tenant: Tenant) -> DatabaseCounts:
    return replace_in_schema(tenant.socket, tenant.environment, REPLACEMENT)


async def test_urls_are_replaced_in_every_table_and_nothing_else_changes(bench: DatabaseHarness) -> None:
    tenant = await bench.tenant()
    for statement in (
        "CREATE TABLE wp_posts (ID INT PRIMARY KEY, guid VARCHAR(255), post_content LONGTEXT,"
        " changed TIMESTAMP DEFAULT '2020-01-01 00:00:00' ON UPDATE CURRENT_TIMESTAMP)",
        "INSERT INTO wp_posts (ID, guid, post_content)"
        f" VALUES (1, '{OLD}?p=1', 'a {OLD} ü🦊'), (2, '{OLD}', '')",
        "CREATE TABLE wp_options (id INT PRIMARY KEY, v LONGTEXT)",
        "INSERT INTO wp_options VALUES"
        f""" (1, 'a:1:{{s:1:"u";s:18:"{OLD}";}}'), (2, 's:9:"{OLD}";'), (3, NULL)""",
        # A key of two columns, one of them a text that contains the host; and Latin-1.
        "CREATE TABLE `odd %s ``name` (a VARCHAR(40), `b %d` INT, t TEXT CHARACTER SET latin1,"
        " PRIMARY KEY (a, `b %d`))",
        "INSERT INTO `odd %s ``name` VALUES"
        f" ('{OLD}', 1, 'é {OLD}'), ('{OLD}', 2, '{OLD}'), ('z', 0, '{OLD}')",
        "CREATE TABLE blobs (id INT PRIMARY KEY, b LONGBLOB, wide TEXT CHARACTER SET utf16)",
        # The first one may be any format, with lengths that must stay right.
        f"INSERT INTO blobs VALUES (1, CONCAT(x'0012', '{OLD}'), '{OLD}'), (2, '{OLD}', '')",
        # Keys whose order is not that of their values, and a value that changes on the way.
        "CREATE TABLE by_float (f FLOAT PRIMARY KEY, v TEXT)",
        f"INSERT INTO by_float VALUES (1.1, '{OLD}')",
        "CREATE TABLE by_enum (e ENUM('z', 'a') PRIMARY KEY, v TEXT)",
        f"INSERT INTO by_enum VALUES ('z', '{OLD}'), ('a', '{OLD}')",
        "CREATE TABLE versioned (id INT PRIMARY KEY, v TEXT) WITH SYSTEM VERSIONING",
        f"INSERT INTO versioned VALUES (1, '{OLD}')",
        # Too long, and not unique.
        "CREATE TABLE narrow (id INT PRIMARY KEY, v VARCHAR(20), u VARCHAR(60) UNIQUE)",
        f"INSERT INTO narrow VALUES (1, '{OLD}', 'x'), (2, '', '{OLD}'), (3, '', '{NEW}'), (4, '', '{OLD}4')",
        "CREATE TABLE generated (id INT PRIMARY KEY, v TEXT, first CHAR(30) AS (LEFT(v, 30)) STORED)",
        f"INSERT INTO generated (id, v) VALUES (1, '{OLD}')",
        "CREATE TABLE wp_blogs (blog_id INT PRIMARY KEY, domain VARCHAR(200))",
        "INSERT INTO wp_blogs VALUES (1, 'site.test'), (2, 'other.test')",
        "CREATE TABLE without_key (v TEXT)",
        f"INSERT INTO without_key VALUES ('{OLD}')",
        "CREATE TABLE without_url (v TEXT)",
        "CREATE VIEW seen AS SELECT * FROM wp_posts",
    ):
        tenant.query(statement)
    counts = replace(tenant)
    assert tenant.query("SELECT ID, guid, post_content, CAST(changed AS CHAR) FROM wp_posts ORDER BY ID") == [
        (1, f"{OLD}?p=1", f"a {NEW} ü🦊", "2020-01-01 00:00:00"),
        (2, OLD, "", "2020-01-01 00:00:00"),
    ]
    options = [(1, f'a:1:{{s:1:"u";s:26:"{NEW}";}}'), (2, f's:9:"{OLD}";'), (3, None)]
    assert tenant.query("SELECT * FROM wp_options ORDER BY id") == options
    assert tenant.query("SELECT * FROM `odd %s ``name` ORDER BY a, `b %d`") == [
        (OLD, 1, f"é {NEW}"),
        (OLD, 2, NEW),
        ("z", 0, NEW),
    ]
    assert tenant.query("SELECT * FROM blobs ORDER BY id") == [
        (1, b"\0\x12" + OLD.encode(), NEW),
        (2, NEW.encode(), ""),
    ]
    assert tenant.query("SELECT v FROM versioned") == [(NEW,)]
    narrow = [(1, OLD, "x"), (2, "", OLD), (3, "", NEW), (4, "", f"{NEW}4")]
    assert tenant.query("SELECT * FROM narrow ORDER BY id") == narrow
    assert tenant.query("SELECT * FROM generated") == [(1, NEW, NEW)]
    assert tenant.query("SELECT domain FROM wp_blogs ORDER BY blog_id") == [
        ("staging.site.test",),
        ("other.test",),
    ]
    assert tenant.query("SELECT v FROM without_key") == [(OLD,)]
    assert counts.without_key == ["by_enum", "by_float", "without_key"]
    assert (counts.refused, counts.values.broken, counts.values.unsupported) == (2, 1, 1)
    assert counts.rows == 11
    again = replace(tenant)
    assert (again.rows, again.refused) == (0, 2), "a second pass changes nothing"
    await bench.databases.drop(tenant.environment)


async def test_large_tables_are_read_in_pages(
    bench: DatabaseHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With smaller pages, so that few rows make many of them."""
    monkeypatch.setattr(database_urls, "PAGE_ROWS", 7)
    monkeypatch.setattr(database_urls, "BATCH_ROWS", 3)
    monkeypatch.setattr(database_urls, "MAX_VALUE_BYTES", 1000)
    tenant = await bench.tenant()
    tenant.query("CREATE TABLE t (a INT, b VARCHAR(20), v TEXT, PRIMARY KEY (a, b))")
    tenant.query(f"INSERT INTO t SELECT seq DIV 3, CONCAT('k', seq), '{OLD}' FROM seq_1_to_100")
    tenant.query(f"INSERT INTO t VALUES (1000, '', CONCAT('{OLD}', REPEAT('x', 1000)))")
    counts = replace(tenant)
    assert (counts.rows, counts.too_large) == (100, 1)
    assert tenant.query(f"SELECT COUNT(*) FROM t WHERE v = '{NEW}'") == [(100,)]
    await bench.databases.drop(tenant.environment)
