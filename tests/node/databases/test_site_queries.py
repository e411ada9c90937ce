"""What a customer's statements do to the server and to other statements of the same database."""

import time
from typing import Any

import msgspec
import pytest

from stead.mariadb.connection import connect
from stead.node.databases.names import quote_name, reader_account
from stead.node.databases.site_queries import SiteQueries
from stead.node.drivers.driver import Refusal
from tests.node.databases.harness import DatabaseHarness, Tenant


@pytest.fixture(scope="module")
async def tenant(bench: DatabaseHarness) -> Tenant:
    made = await bench.tenant()
    made.query("CREATE TABLE posts (id int primary key, title text); INSERT INTO posts VALUES (1, 'first')")
    return made


async def ask(tenant: Tenant, kind: str, seconds: float = 60.0, **body: Any) -> Any:
    queries = SiteQueries(tenant.socket)
    answer = await queries.answer(
        *(f"database.{kind}", msgspec.json.encode(body), tenant.environment, tenant.password),
        until=time.monotonic() + seconds,
    )
    return msgspec.json.decode(answer)


async def test_a_change_that_nobody_waits_for_any_more_is_not_made(tenant: Tenant) -> None:
    change = "UPDATE posts SET title = 'late' WHERE id = 1 AND SLEEP(1) = 0"
    with pytest.raises(Refusal, match="took too long"):
        await ask(tenant, "execute", seconds=0.5, query=change, confirm=True)
    assert tenant.query("SELECT title FROM posts WHERE id = 1") == [("first",)]
    assert (await ask(tenant, "execute", query=change, confirm=True))["applied"]
    assert tenant.query("SELECT title FROM posts WHERE id = 1") == [("late",)]


@pytest.mark.parametrize("clause", ["FOR UPDATE", "LOCK IN SHARE MODE"])
async def test_whoever_only_reads_does_not_block_changes(tenant: Tenant, clause: str) -> None:
    with pytest.raises(Refusal, match="cannot lock rows"):
        await ask(tenant, "query", query=f"SELECT SLEEP(6) FROM posts WHERE id = 1 {clause}")


async def test_the_tables_are_listed_with_the_limits_of_a_reader(bench: DatabaseHarness) -> None:
    """The server goes on with statements of its administrator when nobody waits for them any more."""
    tenant = await bench.tenant()
    tenant.query("CREATE TABLE posts (id int primary key, title text); INSERT INTO posts VALUES (1, 'first')")
    found = await ask(tenant, "get")
    assert [each["name"] for each in found["tables"]] == ["posts"]
    assert found["tables"][0]["size_bytes"] > 0
    assert found["version"].split(".")[0].isdigit()
    reader = reader_account(tenant.environment)
    with connect(tenant.socket) as connection:
        assert connection.execute("SELECT COUNT(*) FROM mysql.global_priv WHERE user = %s", [reader]) == [
            (1,)
        ]


async def test_a_change_needs_tables_that_can_take_it_back(bench: DatabaseHarness) -> None:
    tenant = await bench.tenant()
    tenant.query("CREATE TABLE posts (id int primary key)")
    change = "INSERT INTO posts VALUES (7)"
    assert await ask(tenant, "execute", query=change) == {"affected_rows": 1, "applied": False}
    with connect(tenant.socket) as connection:
        connection.execute("SET enforce_storage_engine = NULL")
        connection.execute(f"ALTER TABLE {quote_name(tenant.environment)}.posts ENGINE = Aria")
    with pytest.raises(Refusal, match="posts is not InnoDB"):
        await ask(tenant, "execute", query=change)
