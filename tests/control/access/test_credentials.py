"""Where to connect, and passwords for file transfers."""

from datetime import timedelta
from hashlib import sha1
from typing import Any

import pytest

from stead.protocol.commands import encode
from stead.shared.clock import MovableClock
from tests import teams
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.control.access.conftest import EnteredSite
from tests.people import Person


async def _reset(client: Client, site: EnteredSite, kind: str = "sftp", **body: Any) -> dict[str, Any]:
    response = await client.post(f"/v1/sites/{site.id}/credentials/{kind}/reset", json=body or None)
    assert response.status_code == 200, response.text
    found: dict[str, Any] = response.json()["data"]
    return found


async def _read(site: EnteredSite) -> Any:
    response = await site.owner.session.get(f"/v1/sites/{site.id}/credentials")
    assert response.status_code == 200, response.text
    return response.json()["data"]


async def test_credentials_say_where_to_connect_and_contain_no_secret(entered_site: EnteredSite) -> None:
    site = entered_site
    password = (await _reset(site.owner.session, site))["password"]
    (shown,) = (await _read(site))["environments"]
    address = {"host": "node-1.ssh.stead.example", "port": 2222, "user": site.user}
    assert shown["ssh"] == address
    assert {name: shown["sftp"][name] for name in address} == address
    assert shown["sftp"]["has_password"]
    assert shown["database"] == {
        "host": "127.0.0.1",
        "port": 3306,
        "user": site.env.replace("env_", "db_"),
        "name": site.env,
        "has_password": False,
        "password_created_at": None,
    }
    assert password not in str(shown)
    await site.run("update sites set status = 'stopped' where id = $1", site.id)
    assert await _read(site) == {"environments": []}


async def test_a_password_is_shown_once_and_stored_as_a_hash(entered_site: EnteredSite) -> None:
    site, table = entered_site, entered_site.node.table
    first = await _reset(site.owner.session, site)
    assert first["user"] == site.user
    await site.nodes.publish()
    admission = table.authorize_password(site.user, first["password"])
    assert admission is not None
    assert admission.account == site.owner.id
    assert not admission.may_run_commands
    second = await _reset(site.owner.session, site, environment=site.env)
    await site.nodes.publish()
    assert not table.still_holds(admission)
    assert table.authorize_password(site.user, first["password"]) is None
    assert table.authorize_password(site.user, second["password"]) is not None
    secret = second["password"].encode()
    async with site.owner.transaction() as tx:
        for rows in ("access_passwords", "access_lists", "events", "audit_events", "jobs"):
            assert second["password"] not in str(await tx.all(str, f"select t::text from {rows} t"))
    stored = await _stored_hash(site)
    for command in site.node.received:
        # The hash is sealed to the node as well.
        assert stored not in encode(command)
        assert secret not in encode(command)


async def _stored_hash(site: EnteredSite) -> bytes:
    async with site.owner.transaction() as tx:
        found: bytes = await tx.value("select hash from access_passwords where env_id = $1", site.env)
    return found


@pytest.mark.parametrize("kind", ["ssh", "databases", "SFTP", "sftp ", "..", "x" * 500])
async def test_there_are_no_other_passwords(entered_site: EnteredSite, kind: str) -> None:
    path = f"/v1/sites/{entered_site.id}/credentials/{kind}/reset"
    assert code_of(await entered_site.owner.session.post(path)) in ("credential.not_found", "route.not_found")


async def test_a_password_for_the_database_is_shown_once_and_the_node_gets_the_hash_that_mariadb_stores(
    entered_site: EnteredSite,
) -> None:
    site, table = entered_site, entered_site.node.table
    sftp = await _reset(site.owner.session, site)
    first = await _reset(site.owner.session, site, "database")
    second = await _reset(site.owner.session, site, "database")
    user = site.env.replace("env_", "db_")
    assert (second["kind"], second["env_id"], second["user"]) == ("database", site.env, user)
    await site.nodes.publish()
    stored = table.list_database_passwords()
    hash_ = sha1(sha1(second["password"].encode()).digest()).digest()  # noqa: S324
    assert {env: password.double_sha1 for env, password in stored.items()} == {site.env: hash_}
    # It opens nothing over SSH, and the password for files is another one.
    assert table.authorize_password(site.user, second["password"]) is None
    assert table.authorize_password(site.user, sftp["password"]) is not None
    (shown,) = (await _read(site))["environments"]
    assert (shown["database"]["user"], shown["database"]["has_password"]) == (user, True)
    assert shown["database"]["password_created_at"] == second["created_at"]
    assert not {first["password"], second["password"]} & {*shown["database"].values()}
    for command in site.node.received:
        assert hash_ not in encode(command)
    async with site.owner.transaction() as tx:
        for rows in ("access_passwords", "access_lists", "events", "audit_events", "jobs"):
            assert second["password"] not in str(await tx.all(str, f"select t::text from {rows} t"))


async def test_a_password_for_the_database_ends_with_the_permission_of_whoever_created_it(
    entered_site: EnteredSite, new_person: NewPerson
) -> None:
    site, member, table = entered_site, await new_person(), entered_site.node.table
    await site.add_member(member)
    await _reset(member.session, site, "database")
    await site.nodes.publish()
    assert list(table.list_database_passwords()) == [site.env]
    removed = await site.owner.session.delete(f"/v1/teams/{site.team}/members/{member.id}")
    assert removed.status_code == 204
    await site.nodes.publish()
    assert table.list_database_passwords() == {}
    (shown,) = (await _read(site))["environments"]
    assert not shown["database"]["has_password"]


async def test_a_password_of_another_site_or_environment_opens_nothing_here(
    entered_site: EnteredSite, stranger: Person
) -> None:
    site, table = entered_site, entered_site.node.table
    async with site.owner.transaction() as tx:
        elsewhere = await teams.insert_site(tx, account=stranger.id)
        foreign = await tx.value("select id from environments where site_id = $1", elsewhere)
        staging = await teams.insert_environment(tx, site.id)
        await tx.run("update environments set node_id = 'node-1' where id = $1", staging)
    path = f"/v1/sites/{site.id}/credentials/sftp/reset"
    for client, body, code in (
        (stranger.session, {}, "site.not_found"),
        (site.owner.session, {"environment": foreign}, "environment.not_found"),
        (site.owner.session, {"environment": "env_x"}, "environment.not_found"),
        (site.owner.session, {"environment": "../production"}, "environment.not_found"),
        (site.owner.session, {"password": "mine"}, "request.field_invalid"),
        (await site.owner.key("*"), {}, "scope.insufficient"),
        (await site.owner.key("credentials:read"), {}, "scope.insufficient"),
    ):
        assert code_of(await client.post(path, json=body)) == code
    of_staging = await _reset(site.owner.session, site, environment=staging)
    await site.nodes.publish()
    assert table.authorize_password(site.user, of_staging["password"]) is None
    assert table.authorize_password(of_staging["user"], of_staging["password"]) is not None


async def test_a_password_ends_with_the_permission_of_whoever_created_it(
    entered_site: EnteredSite, new_person: NewPerson, clock: MovableClock
) -> None:
    site, member, table = entered_site, await new_person(), entered_site.node.table
    await site.add_member(member, expires_at=clock() + timedelta(hours=1))
    password = (await _reset(member.session, site))["password"]
    await site.nodes.publish()
    admission = table.authorize_password(site.user, password)
    assert admission is not None
    removed = await site.owner.session.delete(f"/v1/teams/{site.team}/members/{member.id}")
    assert removed.status_code == 204
    await site.nodes.publish()
    assert not table.still_holds(admission)
    (shown,) = (await _read(site))["environments"]
    assert not shown["sftp"]["has_password"]

    key = await site.owner.key("credentials:write")
    password = (await _reset(key, site))["password"]
    await site.nodes.publish()
    assert table.authorize_password(site.user, password) is not None
    id_ = (await site.owner.session.get("/v1/api-keys")).json()["data"][0]["id"]
    assert (await site.owner.session.delete(f"/v1/api-keys/{id_}")).is_success
    await site.nodes.publish()
    assert table.authorize_password(site.user, password) is None
