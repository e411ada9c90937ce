"""Whose SSH keys open a site, and who decides about them."""

from datetime import timedelta

import pytest

from stead.control.access.rules import COMMANDERS, HOLDERS, MAX_KEYS
from stead.shared.clock import MovableClock
from stead.shared.ids import new_id
from stead.shared.roles import Role
from tests import teams
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.control.access.conftest import EnteredSite
from tests.control.access.keys import new_public_key
from tests.people import Person


def test_only_members_who_may_change_a_site_have_keys_and_run_commands() -> None:
    assert HOLDERS == ["owner", "admin", "site_manager"]
    assert set(COMMANDERS) <= set(HOLDERS)


async def test_nobody_else_sees_or_changes_the_keys_of_a_site(
    entered_site: EnteredSite, new_person: NewPerson, stranger: Person
) -> None:
    site = entered_site
    key, _ = await site.enter(site.owner.session)
    observer, biller = await new_person(), await new_person()
    await site.add_member(observer, Role.OBSERVER)
    await site.add_member(biller, Role.BILLING)
    path = f"/v1/sites/{site.id}/ssh-keys"
    for client, reading, writing in (
        (stranger.session, "site.not_found", "site.not_found"),
        (biller.session, "site.not_found", "site.not_found"),
        (observer.session, "role.insufficient", "role.insufficient"),
        (await site.owner.key("*"), "scope.insufficient", "scope.insufficient"),
        (await site.owner.key("sites:admin"), "scope.insufficient", "scope.insufficient"),
        (await site.owner.key("credentials:read"), "200", "scope.insufficient"),
        (await site.owner.key(mode="test"), "site.not_found", "site.not_found"),
    ):
        assert code_of(await client.get(path)) == reading
        assert code_of(await client.put(path, json={"keys": []})) == writing
    assert [each["client_id"] for each in await site.list_keys()] == [site.owner.id]
    await site.nodes.publish()
    assert site.authorize(key) is not None


async def test_a_list_is_validated_before_anything_changes(entered_site: EnteredSite) -> None:
    site, client = entered_site, entered_site.owner.session
    kept, _ = await site.enter(client)
    _, encoded = kept.split()
    for keys in (
        ["nonsense"],
        [f'command="id" {kept}'],
        [kept, kept],
        [kept, f"{kept} with another comment"],
        [kept, f" {kept}\n"],
        [new_public_key() for _ in range(MAX_KEYS + 1)],
        ["ssh-ed25519 " + "A" * 5000],
        ["-----BEGIN OPENSSH PRIVATE KEY-----\nAAAA"],
        [f"ssh-rsa {encoded}"],
        [""],
    ):
        assert code_of(await site.replace_keys(client, *keys)) == "request.field_invalid"
    for label in ("x" * 101, "a\nb", "a\x1b[31mb"):
        assert code_of(await site.replace_keys(client, kept, label=label)) == "request.field_invalid"
    refused = await client.put(f"/v1/sites/{site.id}/ssh-keys", json={"keys": [{"public_key": kept, "x": 1}]})
    assert code_of(refused) == "request.field_invalid"
    (listed,) = await site.list_keys()
    assert listed["public_key"] == kept
    assert listed["type"] == "ssh-ed25519"


async def test_a_key_stays_with_the_member_who_added_it(
    entered_site: EnteredSite, new_person: NewPerson
) -> None:
    site, manager, admin = entered_site, await new_person(), await new_person()
    await site.add_member(manager, Role.SITE_MANAGER)
    await site.add_member(admin, Role.ADMIN)
    of_owner, _ = await site.enter(site.owner.session)
    of_admin, _ = await site.enter(admin.session)
    of_manager, admission = await site.enter(manager.session)
    assert admission.account == manager.id
    owners = {each["public_key"]: each["client_id"] for each in await site.list_keys(manager.session)}
    assert owners == {of_owner: site.owner.id, of_admin: admin.id, of_manager: manager.id}

    # Nobody removes the key of somebody with a higher role, neither directly nor by leaving it out.
    refused = await site.replace_keys(manager.session, of_manager, of_owner)
    assert code_of(refused) == "role.insufficient"
    assert code_of(await site.replace_keys(admin.session, of_admin, of_manager)) == "role.insufficient"
    assert len(await site.list_keys()) == 3

    # The label of somebody else's key does not change, and it does not change hands.
    renamed = await site.replace_keys(manager.session, of_owner, of_admin, of_manager, label="Mine")
    assert renamed.status_code == 202
    labels = {each["public_key"]: (each["label"], each["client_id"]) for each in await site.list_keys()}
    assert labels[of_owner] == ("", site.owner.id)
    assert labels[of_manager] == ("Mine", manager.id)

    # One's own key can always be removed, and that of an equal or lower role.
    assert (await site.replace_keys(admin.session, of_owner)).status_code == 202
    assert [each["public_key"] for each in await site.list_keys()] == [of_owner]


async def test_a_key_of_an_api_key_without_the_scope_runs_no_commands(entered_site: EnteredSite) -> None:
    site = entered_site
    _, admission = await site.enter(await site.owner.key("credentials:write"))
    assert not admission.may_run_commands
    _, admission = await site.enter(await site.owner.key("credentials:write", "exec:raw"))
    assert admission.may_run_commands
    _, admission = await site.enter(site.owner.session)
    assert admission.may_run_commands


async def test_nothing_outlives_the_permission_that_it_depends_on(
    entered_site: EnteredSite, new_person: NewPerson, clock: MovableClock
) -> None:
    """One member for each way in which a permission ends. What was open is closed on the node."""
    site = entered_site
    people = {
        name: await new_person() for name in ("removed", "demoted", "expired", "left", "deleted", "kept")
    }
    for name, person in people.items():
        until = clock() + timedelta(hours=1) if name == "expired" else None
        await site.add_member(person, expires_at=until)
    entered = {name: await site.enter(person.session) for name, person in people.items()}
    key_of_api, by_api = await site.enter(await site.owner.key("credentials:write"))
    members = f"/v1/teams/{site.team}/members"
    session = site.owner.session
    assert (await session.delete(f"{members}/{people['removed'].id}")).status_code == 204
    demotion = await session.patch(f"{members}/{people['demoted'].id}", json={"role": "observer"})
    assert demotion.is_success, demotion.text
    left = people["left"]
    assert (await left.session.delete(f"{members}/{left.id}")).status_code == 204
    await site.run("delete from accounts where id = $1", people["deleted"].id)
    revoked = (await session.get("/v1/api-keys")).json()["data"][0]["id"]
    assert (await session.delete(f"/v1/api-keys/{revoked}")).is_success
    clock.ahead += timedelta(hours=1)
    # Also before the publisher has run, nobody sees them in the list any more, and the node knows the expiry.
    assert [each["client_id"] for each in await site.list_keys()] == [people["kept"].id]
    assert not site.node.table.still_holds(entered["expired"][1])
    async with site.owner.transaction() as tx:
        # The clock of the control plane was moved; its nodes are still there.
        await tx.run("update nodes set last_seen_at = $1", tx.now)
    await site.nodes.publish()
    for name, (key, admission) in entered.items():
        assert site.node.table.still_holds(admission) == (name == "kept"), name
        assert (site.authorize(key) is not None) == (name == "kept"), name
    assert not site.node.table.still_holds(by_api)
    assert site.authorize(key_of_api) is None
    async with site.owner.transaction() as tx:
        left_over = await tx.all(str, "select account_id from ssh_keys where site_id = $1", site.id)
    assert left_over == [people["kept"].id]

    # Whoever comes back has to add the key again.
    await site.add_member(people["removed"])
    await site.nodes.publish()
    assert site.authorize(entered["removed"][0]) is None


async def test_a_key_that_is_added_while_its_member_is_removed_opens_nothing(
    entered_site: EnteredSite, new_person: NewPerson
) -> None:
    site, member = entered_site, await new_person()
    await site.add_member(member)
    key = new_public_key()
    assert (await site.replace_keys(member.session, key)).status_code == 202
    # As if the request had been authorized before the removal, and had committed after it.
    await site.run("delete from team_members where account_id = $1", member.id)
    await site.nodes.publish()
    assert site.authorize(key) is None
    assert await site.list_keys() == []


async def test_a_site_that_is_transferred_keeps_no_key_of_its_former_team(
    entered_site: EnteredSite, new_person: NewPerson
) -> None:
    site, manager = entered_site, await new_person()
    await site.add_member(manager)
    of_manager, _ = await site.enter(manager.session)
    of_owner, _ = await site.enter(site.owner.session)
    await site.run("update jobs set status = 'succeeded' where site_id = $1", site.id)
    async with site.owner.transaction() as tx:
        target = await teams.insert_team(tx, site.owner.id)
    moved = await site.owner.session.post(f"/v1/sites/{site.id}/transfer", json={"to_team_id": target})
    assert moved.is_success, moved.text
    assert [each["client_id"] for each in await site.list_keys()] == [site.owner.id]
    await site.nodes.publish()
    assert site.authorize(of_manager) is None
    assert site.authorize(of_owner) is not None


@pytest.mark.parametrize(
    ("column", "status"),
    [
        ("sites.status", "stopped"),
        ("sites.status", "deleting"),
        ("sites.status", "deleted"),
        ("environments.status", "suspending"),
        ("environments.status", "suspended"),
        ("environments.status", "deleting"),
    ],
)
async def test_a_site_that_does_not_run_is_closed_and_opens_again(
    entered_site: EnteredSite, column: str, status: str
) -> None:
    site = entered_site
    key, admission = await site.enter(site.owner.session)
    table = column.partition(".")[0]
    where = "id = $1" if table == "sites" else "site_id = $1"
    await site.run(f"update {table} set status = $2 where {where}", site.id, status)
    await site.nodes.publish()
    assert not site.node.table.still_holds(admission)
    assert site.authorize(key) is None
    await site.run(f"update {table} set status = 'running' where {where}", site.id)
    await site.nodes.publish()
    assert site.authorize(key) is not None


async def test_a_site_of_nobody_is_not_found(anonymous: Client, person: Person) -> None:
    path = f"/v1/sites/{new_id('site')}/ssh-keys"
    assert code_of(await person.session.get(path)) == "site.not_found"
    assert code_of(await anonymous.get(path)) == "auth.missing"
