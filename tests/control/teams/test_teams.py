"""Founding, renaming and ending teams, and whose ceiling a team lends."""

import asyncio

import pytest

from stead.control.app import ControlPlane
from tests import teams
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.people import Person
from tests.teams import add_member, found_team


@pytest.fixture
async def other(new_person: NewPerson) -> Person:
    return await new_person()


async def test_whoever_founds_a_team_owns_it(person: Person):
    team = await found_team(person, "Engines")
    found = (await person.session.get(f"/v1/teams/{team}")).json()["data"]
    assert (found["team_id"], found["name"], found["my_role"]) == (team, "Engines", "owner")
    assert found["plan"] == "unlimited"
    [member] = (await person.session.get(f"/v1/teams/{team}/members")).json()["data"]
    assert (member["client_id"], member["role"], member["expires_at"]) == (person.id, "owner", None)


async def test_the_list_says_ones_own_role_in_each_team(person: Person, other: Person):
    mine, theirs = await found_team(person), await found_team(other)
    await found_team(other, "not joined")
    await add_member(other.session, theirs, person.id, "billing")
    listed = (await person.session.get("/v1/teams")).json()["data"]
    assert [(each["team_id"], each["my_role"]) for each in listed] == [(theirs, "billing"), (mine, "owner")]


async def test_the_list_is_walked_once_through(person: Person):
    founded = [await found_team(person) for _ in range(5)]
    walked, query = [], {"limit": "2"}
    while True:
        page = (await person.session.get("/v1/teams", params=query)).json()
        walked += [each["team_id"] for each in page["data"]]
        if not page["pagination"]["has_more"]:
            break
        query["cursor"] = page["pagination"]["next_cursor"]
    assert walked == founded[::-1]


async def test_a_team_is_renamed(person: Person):
    team = await found_team(person, "Before")
    renamed = await person.session.patch(f"/v1/teams/{team}", json={"name": "After"})
    assert renamed.json()["data"]["name"] == "After"
    assert (await person.session.patch(f"/v1/teams/{team}", json={})).json()["data"]["name"] == "After"
    assert code_of(await person.session.patch(f"/v1/teams/{team}", json={"name": ""})) == (
        "request.field_invalid"
    )


async def test_a_team_with_sites_cannot_be_deleted(person: Person, plane: ControlPlane):
    team = await found_team(person)
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, team=team)
    assert code_of(await person.session.delete(f"/v1/teams/{team}")) == "team.has_sites"
    async with plane.database.transaction() as tx:
        await tx.run("update sites set status = 'deleted' where id = $1", site)
    assert (await person.session.delete(f"/v1/teams/{team}")).status_code == 204
    assert code_of(await person.session.get(f"/v1/teams/{team}")) == "team.not_found"


async def test_the_deleted_sites_of_a_deleted_team_become_those_of_whoever_deleted_it(
    person: Person, plane: ControlPlane
):
    team = await found_team(person)
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, team=team, status="deleted")
    assert (await person.session.delete(f"/v1/teams/{team}")).status_code == 204
    assert (await person.session.get(f"/v1/sites/{site}")).json()["data"]["team_id"] is None


async def test_only_an_owner_deletes_a_team(person: Person, other: Person):
    team = await found_team(person)
    await add_member(person.session, team, other.id, "admin")
    assert code_of(await other.session.delete(f"/v1/teams/{team}")) == "role.insufficient"


async def test_an_unknown_team_and_an_invisible_one_answer_alike(person: Person, other: Person):
    hidden = await found_team(other)
    answers = [
        await person.session.get(f"/v1/teams/{team}") for team in (hidden, hidden[:-1] + "0", "team_x", "x")
    ]
    bodies = {answer.text.replace(answer.json()["request_id"], "") for answer in answers}
    assert len(bodies) == 1


async def _ceiling(client: Client) -> int:
    found = (await client.get("/v1/rate-limits")).json()["data"]
    return int(found["team_ceiling"]["limit"])


async def _header_ceiling(client: Client) -> str:
    """As a counted request is told, which may go by a cached copy of the caller."""
    return (await client.get("/v1/teams")).headers["ratelimit-policy"].partition('"team";q=')[2]


async def _team_on_plan(plane: ControlPlane, person: Person, plan: str) -> str:
    team = await found_team(person)
    async with plane.database.transaction() as tx:
        await tx.run("update teams set plan = $2 where id = $1", team, plan)
    return team


async def test_the_ceiling_is_that_of_the_default_teams_plan(new_person: NewPerson, plane: ControlPlane):
    person = await new_person(plan="pro")
    team = await _team_on_plan(plane, person, "business")
    key = await person.key()
    assert await _ceiling(key) == 20_000
    assert await _header_ceiling(key) == "20000;w=60"
    chosen = await person.session.patch("/v1/account", json={"default_team_id": team})
    assert chosen.status_code == 204
    for client in (key, person.session):
        assert await _ceiling(client) == 100_000
        assert await _header_ceiling(client) == "100000;w=60"


async def test_members_of_one_default_team_share_its_ceiling(new_person: NewPerson, plane: ControlPlane):
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into plans values ('ten-a-minute', 'Ten a minute', 1, 1, 1, 1, 1, 1000, 1000, 1000, 10)"
            " on conflict do nothing"
        )
    one, two = [await new_person() for _ in range(2)]
    team = await _team_on_plan(plane, one, "ten-a-minute")
    await add_member(one.session, team, two.id, "observer")
    for each in (one, two):
        chosen = await each.session.patch("/v1/account", json={"default_team_id": team})
        assert chosen.status_code == 204
        assert await _ceiling(each.session) == 10
    keys = [await one.key(), await one.key(), await two.key()]
    answers = [await key.get("/v1/teams") for key in keys * 4]
    assert [answer.status_code for answer in answers[:10]] == [200] * 10
    assert {code_of(answer) for answer in answers[11:]} == {"rate_limit.exceeded"}


@pytest.mark.parametrize("ending", ["deletion", "removal", "leaving"])
async def test_the_end_of_a_default_team_resets_it_and_the_ceiling(
    new_person: NewPerson, plane: ControlPlane, ending: str
):
    owner, member = await new_person(plan="pro"), await new_person(plan="pro")
    team = await _team_on_plan(plane, owner, "business")
    await add_member(owner.session, team, member.id, "observer")
    key = await member.key()
    assert (await member.session.patch("/v1/account", json={"default_team_id": team})).status_code == 204
    assert await _header_ceiling(key) == "100000;w=60"
    membership = f"/v1/teams/{team}/members/{member.id}"
    client, path = {
        "deletion": (owner.session, f"/v1/teams/{team}"),
        "removal": (owner.session, membership),
        "leaving": (member.session, membership),
    }[ending]
    assert (await client.delete(path)).status_code == 204
    assert (await member.session.get("/v1/account")).json()["data"]["default_team_id"] is None
    for client in (key, member.session):
        assert await _ceiling(client) == 20_000
        assert await _header_ceiling(client) == "20000;w=60"


async def test_only_a_team_that_one_belongs_to_can_be_the_default(person: Person, other: Person):
    team = await found_team(other)
    for wanted in (team, "team_x", "nothing"):
        refused = await person.session.patch("/v1/account", json={"default_team_id": wanted})
        assert (refused.status_code, code_of(refused)) == (422, "account.team_not_joined")


WHILE_DELETED = {
    "default": ("PATCH", "/v1/account", {"default_team_id": "{team}"}),
    "project": ("POST", "/v1/teams/{team}/projects", {"name": "x"}),
    "rename": ("PATCH", "/v1/teams/{team}", {"name": "x"}),
    "member": ("POST", "/v1/teams/{team}/members", {"client_id": "{other}", "role": "observer"}),
    "invite": ("POST", "/v1/teams/{team}/invites", {"role": "observer"}),
}


@pytest.mark.parametrize("act", WHILE_DELETED)
async def test_what_happens_to_a_team_while_it_is_deleted_is_no_fault(
    person: Person, other: Person, act: str
):
    """Either it came first, or the team is not there any more."""
    method, path, body = WHILE_DELETED[act]
    for _ in range(10):
        team = await found_team(person)
        ids = {"team": team, "other": other.id}
        sent = {name: value.format_map(ids) for name, value in body.items()}
        answer, deleted = await asyncio.gather(
            person.session.request(method, path.format_map(ids), json=sent),
            person.session.delete(f"/v1/teams/{team}"),
        )
        assert answer.status_code < 500, answer.text
        assert deleted.status_code == 204
