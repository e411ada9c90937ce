"""What a key that is pinned, or that is for tests, sees of a team and of its owner's own."""

from dataclasses import dataclass

import pytest

from stead.control.app import ControlPlane
from stead.control.http.principal import Pin, PinType
from tests import teams
from tests.client import Client, code_of
from tests.people import Person
from tests.teams import found_team


@dataclass(frozen=True)
class Resources:
    team: str
    project: str
    site: str
    """In the project."""
    loose_site: str
    test_site: str
    own_project: str
    own_site: str


@pytest.fixture
async def resources(person: Person, plane: ControlPlane) -> Resources:
    team = await found_team(person)
    async with plane.database.transaction() as tx:
        project = await teams.insert_project(tx, team=team)
        own_project = await teams.insert_project(tx, account=person.id)
        return Resources(
            team,
            project,
            await teams.insert_site(tx, team=team, project=project),
            await teams.insert_site(tx, team=team),
            await teams.insert_site(tx, team=team, project=project, mode="test"),
            own_project,
            await teams.insert_site(tx, account=person.id, project=own_project),
        )


async def _sees(client: Client, resources: Resources) -> set[str]:
    """Which of the resources the client can read."""
    paths = {
        "team": f"/v1/teams/{resources.team}",
        "project": f"/v1/teams/{resources.team}/projects/{resources.project}",
        "site": f"/v1/sites/{resources.site}/audit",
        "loose_site": f"/v1/sites/{resources.loose_site}/audit",
        "test_site": f"/v1/sites/{resources.test_site}/audit",
        "own_project": f"/v1/projects/{resources.own_project}",
        "own_site": f"/v1/sites/{resources.own_site}/audit",
    }
    seen = set()
    for name, path in paths.items():
        answer = await client.get(path)
        assert answer.status_code in (200, 404), answer.text
        seen |= {name} if answer.status_code == 200 else set()
    return seen


@pytest.mark.parametrize(
    ("type_", "name", "sees"),
    [
        ("team", "team", {"team", "project", "site", "loose_site"}),
        ("project", "project", {"project", "site"}),
        ("site", "site", {"site"}),
        ("site", "loose_site", {"loose_site"}),
        ("project", "own_project", {"own_project", "own_site"}),
        ("site", "own_site", {"own_site"}),
    ],
)
async def test_a_pinned_key_sees_its_pin_and_what_is_in_it(
    person: Person, resources: Resources, type_: PinType, name: str, sees: set[str]
):
    key = await person.key(resource=Pin(type_, getattr(resources, name)))
    assert await _sees(key, resources) == sees


async def test_a_session_sees_both_modes_and_a_key_only_its_own(person: Person, resources: Resources):
    everything = {"team", "project", "site", "loose_site", "test_site", "own_project", "own_site"}
    live_sites = {"site", "loose_site", "own_site"}
    assert await _sees(person.session, resources) == everything
    assert await _sees(await person.key(), resources) == everything - {"test_site"}
    assert await _sees(await person.key(mode="test"), resources) == everything - live_sites


async def test_a_test_key_lists_and_moves_only_test_sites(person: Person, resources: Resources):
    key = await person.key(mode="test")
    listed = (await key.get(f"/v1/teams/{resources.team}/sites")).json()["data"]
    assert [each["id"] for each in listed] == [resources.test_site]
    path = f"/v1/teams/{resources.team}/projects/{resources.project}/sites"
    assert code_of(await key.post(path, json={"site_id": resources.loose_site})) == "site.not_found"
    assert code_of(await key.delete(f"{path}/{resources.site}")) == "site.not_found"
    assert (await key.delete(f"{path}/{resources.test_site}")).status_code == 204


async def test_lists_of_a_pinned_key_hold_only_its_pin(person: Person, resources: Resources):
    await found_team(person, "Elsewhere")
    by_team = await person.key(resource=Pin("team", resources.team))
    listed = (await by_team.get("/v1/teams")).json()["data"]
    assert [each["team_id"] for each in listed] == [resources.team]
    assert (await by_team.get("/v1/projects")).json()["data"] == []
    by_project = await person.key(resource=Pin("project", resources.own_project))
    assert (await by_project.get("/v1/teams")).json()["data"] == []
    listed = (await by_project.get("/v1/projects")).json()["data"]
    assert [each["id"] for each in listed] == [resources.own_project]


@pytest.mark.parametrize("type_", ["team", "project", "site"])
async def test_a_pinned_key_does_nothing_for_the_account_as_a_whole(
    person: Person, resources: Resources, type_: PinType
):
    key = await person.key(resource=Pin(type_, getattr(resources, type_)))
    calls = [
        await key.post("/v1/teams", json={"name": "x"}),
        await key.post("/v1/projects", json={"name": "x"}),
        await key.patch("/v1/account", json={"name": "x"}),
        await key.post("/v1/invites/accept", json={"token": "x"}),
    ]
    assert [code_of(call) for call in calls] == ["account.not_found"] * 4


async def test_a_key_minted_by_a_pinned_one_carries_its_pin(
    person: Person, resources: Resources, anonymous: Client
):
    key = await person.key(resource=Pin("project", resources.project))
    minted = await key.post("/v1/api-keys", json={"scopes": ["sites:read", "teams:read", "audit:read"]})
    assert minted.json()["data"]["resource"] == {"type": "project", "id": resources.project}
    assert await _sees(anonymous.as_(minted.json()["data"]["secret"]), resources) == {"project", "site"}


async def test_a_pin_does_not_keep_a_member_in(person: Person, resources: Resources, plane: ControlPlane):
    key = await person.key(resource=Pin("team", resources.team))
    async with plane.database.transaction() as tx:
        await tx.run("delete from team_members where team_id = $1", resources.team)
    assert await _sees(key, resources) == set()
