"""Whose environments they are: other people's, another site's and what a pin leaves out are not there."""

import pytest

from stead.control.app import ControlPlane
from tests import teams
from tests.client import code_of
from tests.control.environments.conftest import Homestead, homestead
from tests.people import Person

ACTIONS = [
    *(("GET", ""), ("DELETE", ""), ("POST", "/refresh"), ("POST", "/reset"), ("POST", "/push")),
    *(("POST", "/suspend"), ("POST", "/resume"), ("POST", "/renew"), ("GET", "/config")),
    ("PATCH", "/config"),
]
each_action = pytest.mark.parametrize(("method", "action"), ACTIONS, ids=lambda word: word or "one")


async def _untouched(home: Homestead, env: str) -> bool:
    jobs = await home.estate.value("select count(*) from jobs where site_id = $1", home.id)
    return not jobs and await home.row(env, "status") == "running"


@each_action
async def test_an_environment_of_another_tenant_is_not_there(
    home: Homestead, neighbour: Homestead, method: str, action: str
):
    env = await neighbour.clone()
    body = {} if method == "PATCH" else None
    for site in (home.id, neighbour.id):
        answer = await home.client.request(method, f"/v1/sites/{site}/environments/{env}{action}", json=body)
        assert (answer.status_code, code_of(answer)) == (404, "environment.not_found")
    assert await _untouched(neighbour, env)


@each_action
async def test_an_environment_of_another_site_of_mine_is_not_below_this_one(
    plane: ControlPlane, person: Person, method: str, action: str
):
    here, there = await homestead(plane, person), await homestead(plane, person)
    env = await there.clone()
    answer = await here.ask(method, f"/{env}{action}", {} if method == "PATCH" else None)
    assert (answer.status_code, code_of(answer)) == (404, "environment.not_found")
    assert await _untouched(there, env)


async def test_nobody_else_lists_or_creates(home: Homestead, neighbour: Homestead):
    await neighbour.clone()
    for body in (None, {"type": "staging"}):
        answer = await home.client.request(
            "GET" if body is None else "POST", f"/v1/sites/{neighbour.id}/environments", json=body
        )
        assert (answer.status_code, code_of(answer)) == (404, "site.not_found")


async def test_a_key_pinned_to_an_environment_sees_that_one_alone(home: Homestead):
    mine, other = await home.clone(), await home.clone(branch="other")
    pin = {"type": "environment", "id": mine}
    minted = await home.person.session.post("/v1/api-keys", json={"scopes": ["*"], "resource": pin})
    assert minted.status_code == 201, minted.text
    pinned = home.client.as_(minted.json()["data"]["secret"])
    path = f"/v1/sites/{home.id}/environments"
    assert (await pinned.get(f"{path}/{mine}")).status_code == 200
    for env in (other, "production"):
        assert code_of(await pinned.get(f"{path}/{env}")) == "environment.not_found"
        assert code_of(await pinned.delete(f"{path}/{env}")) == "environment.not_found"
    assert code_of(await pinned.get(path)) == "site.not_found"
    assert code_of(await pinned.post(path, json={"type": "staging"})) == "site.not_found"
    assert (await pinned.delete(f"{path}/{mine}")).status_code == 202


async def test_a_key_pinned_to_a_site_has_the_environments_of_that_site_alone(
    plane: ControlPlane, person: Person
):
    here, there = await homestead(plane, person), await homestead(plane, person)
    mine, other = await here.clone(), await there.clone()
    pin = {"type": "site", "id": here.id}
    minted = await person.session.post("/v1/api-keys", json={"scopes": ["*"], "resource": pin})
    pinned = here.client.as_(minted.json()["data"]["secret"])
    assert (await pinned.get(f"/v1/sites/{here.id}/environments/{mine}")).status_code == 200
    assert code_of(await pinned.get(f"/v1/sites/{there.id}/environments/{other}")) == "environment.not_found"
    assert code_of(await pinned.get(f"/v1/sites/{there.id}/environments")) == "site.not_found"


async def test_a_test_key_does_not_see_the_environments_of_a_live_site(home: Homestead):
    env = await home.clone()
    key = await home.person.key(mode="test")
    assert code_of(await key.get(f"/v1/sites/{home.id}/environments/{env}")) == "environment.not_found"
    assert code_of(await key.get(f"/v1/sites/{home.id}/environments")) == "site.not_found"


async def test_an_observer_reads_and_does_not_change(plane: ControlPlane, home: Homestead, person: Person):
    async with plane.database.transaction() as tx:
        team = await teams.insert_team(tx, home.person.id)
        await teams.insert_member(tx, team, person.id, teams.Role.OBSERVER)
        await tx.run("update sites set account_id = null, team_id = $2 where id = $1", home.id, team)
    env = await home.clone()
    path = f"/v1/sites/{home.id}/environments"
    assert (await person.session.get(f"{path}/{env}")).status_code == 200
    assert code_of(await person.session.delete(f"{path}/{env}")) == "role.insufficient"
    assert code_of(await person.session.post(path, json={"type": "staging"})) == "role.insufficient"


async def test_a_node_tells_only_of_visits_to_what_it_carries(plane: ControlPlane, home: Homestead):
    from stead.control.environments import maintenance
    from stead.protocol.commands import Activity

    env = await home.clone()
    async with plane.database.transaction() as tx:
        await maintenance.record_visits(tx, Activity("another-node", {env: tx.now.timestamp()}))
    assert await home.row(env, "last_active") is None
