"""People have a user of their own in the database of an environment. It follows the environment to another
schema, and the user of the site is never touched."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pymysql
import pytest

from stead.control.access.rules import hash_password
from stead.mariadb.connection import connect
from stead.node.access.table import AccessTable
from stead.node.databases.names import people_account, schema_name
from stead.node.databases.people_accounts import PeopleAccounts
from stead.node.databases.size_limits import SizeLimits
from stead.node.hosting.desired_state import DesiredState
from stead.node.wordpress.people_databases import PeopleDatabases
from stead.node.wordpress.spec import Datasets, WordPressSecrets, WordPressSpec, new_secrets
from stead.protocol.work.access import DatabasePassword, SetAccess
from stead.protocol.work.hosting import WordPressSettings
from tests.node.databases.harness import DatabaseHarness, Tenant

FIRST, SECOND = "stead_database_first", "stead_database_second"
OTHER = "abcdef01234567"
SETTINGS = WordPressSettings("8.2", "https://shop.example", "Shop", "admin", "admin@example.com")
_GENERATIONS = count(1)


@dataclass
class People:
    """What the agent of a node has, and a time that can be moved."""

    bench: DatabaseHarness
    access: AccessTable
    state: DesiredState[WordPressSpec, WordPressSecrets]
    driver: PeopleDatabases
    now: float = 1000.0

    def new_driver(self) -> PeopleDatabases:
        return PeopleDatabases(self.access, PeopleAccounts(self.bench.server.socket), self.state)

    async def site(self) -> Tenant:
        made = await self.bench.tenant()
        made.query("CREATE TABLE orders (id INT)")
        self.serve(made)
        return made

    def serve(self, site: Tenant, dataset: str = "", *, suspended: bool = False) -> None:
        spec = WordPressSpec(SETTINGS, "php", "core", "installed", datasets=Datasets(dataset))
        self.state.put(site.environment, "site_x", spec, new_secrets(), suspended=suspended)

    async def set_password(self, site: Tenant, text: str | None, expires_at: float | None = None) -> None:
        password = None
        if text is not None:
            hash_ = hash_password("database", text)
            password = DatabasePassword("pass_1", "client_1", hash_, expires_at)
        wanted = SetAccess(next(_GENERATIONS), site.environment, database=password)
        assert self.access.replace(site.environment, "site_x", wanted)
        await self.driver.compare()

    def connect(self, site: Tenant, text: str = FIRST, dataset: str = "") -> Any:
        return pymysql.connect(
            unix_socket=str(site.socket),
            user=people_account(site.environment),
            password=text.encode(),
            database=schema_name(site.environment, dataset),
            autocommit=True,
        )

    def query(self, site: Tenant, statement: str, text: str = FIRST, dataset: str = "") -> Any:
        with self.connect(site, text, dataset) as connection, connection.cursor() as cursor:
            cursor.execute(statement)
            return list(cursor.fetchall())

    def is_open(self, site: Tenant, text: str = FIRST, dataset: str = "") -> bool:
        try:
            return bool(self.query(site, "SELECT 1", text, dataset))
        except pymysql.MySQLError:
            return False


@pytest.fixture
def people(bench: DatabaseHarness, tmp_path: Path) -> Iterator[People]:
    made: People
    access = AccessTable(tmp_path / "access.sqlite", now=lambda: made.now)
    state = DesiredState(tmp_path / "state.sqlite", WordPressSpec, WordPressSecrets, bytes(32))
    made = People(bench, access, state, PeopleDatabases(access, PeopleAccounts(bench.server.socket), state))
    yield made
    access.close()
    state.close()


async def test_a_password_opens_one_schema_beside_that_of_the_site(people: People) -> None:
    site, other = await people.site(), await people.site()
    assert not people.is_open(site)
    await people.set_password(site, FIRST)
    people.query(site, "INSERT INTO orders VALUES (1)")
    assert site.query("SELECT id FROM orders") == [(1,)]
    for refused in (
        f"SELECT * FROM `{other.environment}`.orders",
        f"INSERT INTO `{other.environment}`.orders VALUES (1)",
        "SELECT * FROM mysql.global_priv",
        "CREATE DATABASE more",
        "CREATE USER more",
        "SELECT 1 INTO OUTFILE '/tmp/people'",
        f"GRANT SELECT ON `{site.environment}`.* TO `{people_account(other.environment)}`@localhost",
        "CREATE PROCEDURE later() SELECT 1",
        "SET GLOBAL max_connections = 1",
    ):
        with pytest.raises(pymysql.MySQLError, match=r"denied|not allowed"):
            people.query(site, refused)
    assert people.query(site, "SELECT LOAD_FILE('/etc/passwd')") == [(None,)]
    held = people.connect(site)
    await people.set_password(site, SECOND)
    with pytest.raises(pymysql.MySQLError), held.cursor() as cursor:
        cursor.execute("SELECT 1")
    assert not people.is_open(site, FIRST)
    assert people.is_open(site, SECOND)
    assert site.query("SELECT id FROM orders") == [(1,)]


async def test_the_user_follows_the_environment_to_another_schema_and_back(people: People) -> None:
    site = await people.site()
    await people.set_password(site, FIRST)
    await people.bench.databases.create(site.environment, "password of the clone", dataset=OTHER)
    for dataset, before in ((OTHER, ""), ("", OTHER)):
        held = people.connect(site, dataset=before)
        await people.driver.end_use(site.environment)
        with pytest.raises(pymysql.MySQLError), held.cursor() as cursor:
            cursor.execute("SELECT 1")
        people.serve(site, dataset)
        await people.driver.compare()
        assert people.is_open(site, dataset=dataset)
        assert not people.is_open(site, dataset=before)
    assert site.query("SELECT COUNT(*) FROM orders") == [(0,)]


async def test_the_user_is_locked_when_nobody_may_use_it_and_what_it_created_still_works(
    people: People,
) -> None:
    site = await people.site()
    for end in ("removed", "expired", "suspended"):
        await people.set_password(site, FIRST, expires_at=2000.0)
        people.query(site, "CREATE OR REPLACE VIEW recent AS SELECT * FROM orders")
        held = people.connect(site)
        if end == "removed":
            await people.set_password(site, None)
        people.now = 3000.0 if end == "expired" else people.now
        people.serve(site, suspended=end == "suspended")
        await people.driver.compare()
        assert not people.is_open(site), end
        with pytest.raises(pymysql.MySQLError), held.cursor() as cursor:
            cursor.execute("SELECT 1")
        assert site.query("SELECT COUNT(*) FROM recent") == [(0,)]
        people.now = 1000.0
        people.serve(site)


async def test_a_new_agent_closes_what_was_removed_while_it_was_away(people: People) -> None:
    site, kept = await people.site(), await people.site()
    for each in (site, kept):
        await people.set_password(each, FIRST)
    wanted = SetAccess(next(_GENERATIONS), site.environment)
    assert people.access.replace(site.environment, "site_x", wanted)
    assert people.is_open(site)
    people.driver = people.new_driver()
    await people.driver.compare()
    assert (people.is_open(site), people.is_open(kept)) == (False, True)
    people.state.remove(site.environment)
    await people.driver.tidy()
    with connect(people.bench.server.socket) as connection:
        users = {str(name) for (name,) in connection.execute("SELECT user FROM mysql.global_priv")}
    assert people_account(site.environment) not in users
    assert people_account(kept.environment) in users


async def test_people_cannot_fill_a_database_that_is_too_large(people: People) -> None:
    site, sizes = await people.site(), SizeLimits(people.bench.server.socket)
    await people.set_password(site, FIRST)
    closed = {site.environment: 1}
    assert await sizes.enforce(closed) == [site.environment]
    with pytest.raises(pymysql.MySQLError, match="denied"):
        people.query(site, "INSERT INTO orders VALUES (1)")
    people.query(site, "DELETE FROM orders")
    # Neither with a new password, nor after the schema was left and used again.
    await people.set_password(site, SECOND)
    with pytest.raises(pymysql.MySQLError, match="denied"):
        people.query(site, "INSERT INTO orders VALUES (1)", SECOND)
    for dataset in (OTHER, ""):
        people.serve(site, dataset)
        await people.driver.compare()
        await sizes.enforce(closed)
    with pytest.raises(pymysql.MySQLError, match="denied"):
        people.query(site, "INSERT INTO orders VALUES (1)", SECOND)
    assert await sizes.enforce({site.environment: 1 << 30}) == []
    people.query(site, "INSERT INTO orders VALUES (1)", SECOND)


@pytest.mark.parametrize("hash_", [b"", b"x" * 19, b"x" * 32])
async def test_a_malformed_hash_makes_no_user(people: People, hash_: bytes) -> None:
    """An empty one would be a user without a password."""
    site = await people.site()
    accounts = PeopleAccounts(people.bench.server.socket)
    with pytest.raises(ValueError, match="hash"):
        await accounts.open(site.environment, site.environment, hash_)
    assert not people.is_open(site, "")


async def test_an_environment_that_cannot_be_opened_does_not_keep_others_from_it(people: People) -> None:
    broken, other = sorted([await people.site(), await people.site()], key=lambda site: site.environment)
    for site, hash_ in ((broken, b"short"), (other, hash_password("database", FIRST))):
        wanted = SetAccess(
            next(_GENERATIONS),
            site.environment,
            database=DatabasePassword("pass_1", "client_1", hash_, None),
        )
        assert people.access.replace(site.environment, "site_x", wanted)
    await people.driver.compare()
    assert (people.is_open(broken), people.is_open(other)) == (False, True)
