"""Environments of other tenants, of other sites and outside of the pin are not found."""

import pytest

from stead.control.app import ControlPlane
from stead.shared.roles import Role
from tests import teams
from tests.client import code_of
from tests.control.environments.conftest import HostedSite, create_hosted_site
from tests.people import Person

ACTIONS = [
    *(("GET", ""), ("DELETE", ""), ("POST", "/refresh"), ("POST", "/reset"), ("POST", "/push")),
    *(("POST", "/suspend"), ("POST", "/resume"), ("POST", "/renew"), ("GET", "/config")),
    *(("PATCH", "/config"), ("PUT", "/lock"), ("DELETE", "/lock")),
]
BODIES: dict[str, dict[str, str]] = {"PATCH": {}, "PUT": {"reason": "Not yours."}}
each_action = pytest.mark.parametrize(("method", "action"), ACTIONS, ids=lambda word: word or "one")


async def _untouched(site: HostedSite, env: str) -> bool:
    jobs = await site.driver.fetch_value("select count(*) from jobs where site_id = $1", site.id)
    locked = await site.column(env, "lock_reason") is not None
    return not jobs and not locked and await site.column(env, "status") == "running"


@each_action
async def test_an_environment_of_another_tenant_is_not_found(
    site: HostedSite, other_site: HostedSite, method: str, action: str
):
    env = await other_site.insert_environment()
    for site_id in (site.id, other_site.id):
        answer = await site.client.request(
            method, f"/v1/sites/{site_id}/environments/{env}{action}", json=BODIES.get(method)
        )
        assert (answer.status_code, code_of(answer)) == (404, "environment.not_found")
    assert await _untouched(other_site, env)


@each_action
async def test_an_environment_is_not_found_under_another_site_of_the_same_owner(
    plane: ControlPlane, person: Person, method: str, action: str
):
    here, there = await create_hosted_site(plane, person), await create_hosted_site(plane, person)
    env = await there.insert_environment()
    answer = await here.request(method, f"/{env}{action}", BODIES.get(method))
    assert (answer.status_code, code_of(answer)) == (404, "environment.not_found")
    assert await _untouched(there, env)


async def test_environments_of_another_tenant_cannot_be_listed_or_created(
    site: HostedSite, other_site: HostedSite
):
    await other_site.insert_environment()
    for body in (None, {"type": "staging"}):
        answer = await site.client.request(
            "GET" if body is None else "POST", f"/v1/sites/{other_site.id}/environments", json=body
        )
        assert (answer.status_code, code_of(answer)) == (404, "site.not_found")


async def test_a_key_pinned_to_an_environment_sees_only_that_one(site: HostedSite):
    mine, other = await site.insert_environment(), await site.insert_environment(branch="other")
    pin = {"type": "environment", "id": mine}
    minted = await site.person.session.post("/v1/api-keys", json={"scopes": ["*"], "resource": pin})
    assert minted.status_code == 201, minted.text
    pinned = site.client.as_(minted.json()["data"]["secret"])
    path = f"/v1/sites/{site.id}/environments"
    assert (await pinned.get(f"{path}/{mine}")).status_code == 200
    for env in (other, "production"):
        assert code_of(await pinned.get(f"{path}/{env}")) == "environment.not_found"
        assert code_of(await pinned.delete(f"{path}/{env}")) == "environment.not_found"
    assert code_of(await pinned.get(path)) == "site.not_found"
    assert code_of(await pinned.post(path, json={"type": "staging"})) == "site.not_found"
    assert (await pinned.delete(f"{path}/{mine}")).status_code == 202


async def test_a_key_pinned_to_a_site_sees_only_its_environments(plane: ControlPlane, person: Person):
    here, there = await create_hosted_site(plane, person), await create_hosted_site(plane, person)
    mine, other = await here.insert_environment(), await there.insert_environment()
    pin = {"type": "site", "id": here.id}
    minted = await person.session.post("/v1/api-keys", json={"scopes": ["*"], "resource": pin})
    pinned = here.client.as_(minted.json()["data"]["secret"])
    assert (await pinned.get(f"/v1/sites/{here.id}/environments/{mine}")).status_code == 200
    assert code_of(await pinned.get(f"/v1/sites/{there.id}/environments/{other}")) == "environment.not_found"
    assert code_of(await pinned.get(f"/v1/sites/{there.id}/environments")) == "site.not_found"


async def test_a_test_key_does_not_see_the_environments_of_a_live_site(site: HostedSite):
    env = await site.insert_environment()
    key = await site.person.key(mode="test")
    assert code_of(await key.get(f"/v1/sites/{site.id}/environments/{env}")) == "environment.not_found"
    assert code_of(await key.get(f"/v1/sites/{site.id}/environments")) == "site.not_found"


async def test_an_observer_can_read_but_not_change_environments(
    plane: ControlPlane, site: HostedSite, person: Person
):
    async with plane.database.transaction() as tx:
        team = await teams.insert_team(tx, site.person.id)
        await teams.insert_member(tx, team, person.id, Role.OBSERVER)
        await tx.run("update sites set account_id = null, team_id = $2 where id = $1", site.id, team)
    env = await site.insert_environment()
    path = f"/v1/sites/{site.id}/environments"
    assert (await person.session.get(f"{path}/{env}")).status_code == 200
    assert code_of(await person.session.delete(f"{path}/{env}")) == "role.insufficient"
    assert code_of(await person.session.post(path, json={"type": "staging"})) == "role.insufficient"


async def test_visits_reported_by_a_node_count_only_for_environments_it_hosts(
    plane: ControlPlane, site: HostedSite
):
    from stead.control.environments import maintenance
    from stead.protocol.commands import Activity

    env = await site.insert_environment()
    async with plane.database.transaction() as tx:
        await maintenance.record_visits(tx, Activity("another-node", {env: tx.now.timestamp()}))
    assert await site.column(env, "last_active") is None
