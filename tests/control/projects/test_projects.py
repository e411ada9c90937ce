"""Projects group the sites of one owner, a person's or a team's."""

import asyncio
from typing import Any

import pytest

from stead.control.app import ControlPlane
from tests import teams
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.people import Person
from tests.teams import add_member, found_team


@pytest.fixture
async def team(person: Person) -> str:
    return await found_team(person)


@pytest.fixture(params=["team", "personal"])
async def base(request: pytest.FixtureRequest, team: str) -> str:
    """Where projects are: the same shapes for both owners."""
    return f"/v1/teams/{team}/projects" if request.param == "team" else "/v1/projects"


@pytest.fixture
def owner(base: str, person: Person, team: str) -> dict[str, str]:
    return {"team": team} if team in base else {"account": person.id}


async def _create(client: Client, base: str, name: str = "Relaunch") -> str:
    made = await client.post(base, json={"name": name})
    assert made.status_code == 201, made.text
    return str(made.json()["data"]["id"])


async def _insert_site(plane: ControlPlane, **where: Any) -> str:
    async with plane.database.transaction() as tx:
        return await teams.insert_site(tx, **where)


async def _sites(client: Client, path: str) -> list[str]:
    return [each["id"] for each in (await client.get(f"{path}/sites")).json()["data"]]


async def test_a_project_is_created_read_renamed_and_listed(person: Person, base: str, team: str):
    project = await _create(person.session, base)
    found = (await person.session.get(f"{base}/{project}")).json()["data"]
    assert (found["name"], found["team_id"]) == ("Relaunch", team if team in base else None)
    renamed = await person.session.patch(f"{base}/{project}", json={"name": "Shop"})
    assert renamed.json()["data"] == {**found, "name": "Shop"}
    listed = (await person.session.get(base)).json()["data"]
    assert [(each["id"], each["name"]) for each in listed] == [(project, "Shop")]


async def test_a_site_is_put_into_one_project_at_a_time(
    person: Person, base: str, owner: dict[str, str], plane: ControlPlane
):
    one, two = [f"{base}/{await _create(person.session, base)}" for _ in range(2)]
    site = await _insert_site(plane, **owner)
    for project, other in ((one, two), (two, one)):
        assigned = await person.session.post(f"{project}/sites", json={"site_id": site})
        assert assigned.status_code == 204
        assert (await _sites(person.session, project), await _sites(person.session, other)) == ([site], [])
    assert code_of(await person.session.delete(f"{one}/sites/{site}")) == "site.not_found"
    assert (await person.session.delete(f"{two}/sites/{site}")).status_code == 204
    assert await _sites(person.session, two) == []


async def test_a_project_holds_only_sites_of_its_own_owner(
    person: Person, base: str, owner: dict[str, str], team: str, plane: ControlPlane
):
    project = f"{base}/{await _create(person.session, base)}"
    other_team = await found_team(person, "Another")
    strangers = [{"team": other_team}, {"account": person.id} if "team" in owner else {"team": team}]
    for stranger in strangers:
        site = await _insert_site(plane, **stranger)
        assigned = await person.session.post(f"{project}/sites", json={"site_id": site})
        assert code_of(assigned) == "project.owner_differs"
    assert await _sites(person.session, project) == []


async def test_deleting_a_project_keeps_its_sites(
    person: Person, base: str, owner: dict[str, str], plane: ControlPlane
):
    project = await _create(person.session, base)
    site = await _insert_site(plane, **owner, project=project)
    assert (await person.session.delete(f"{base}/{project}")).status_code == 204
    assert code_of(await person.session.get(f"{base}/{project}")) == "project.not_found"
    async with plane.database.reading() as tx:
        assert await tx.value("select project_id is null from sites where id = $1", site)


async def test_assigning_a_site_while_the_project_is_deleted_is_no_fault(
    person: Person, base: str, owner: dict[str, str], plane: ControlPlane
):
    site = await _insert_site(plane, **owner)
    for _ in range(10):
        project = await _create(person.session, base)
        assigned, deleted = await asyncio.gather(
            person.session.post(f"{base}/{project}/sites", json={"site_id": site}),
            person.session.delete(f"{base}/{project}"),
        )
        assert assigned.status_code in (204, 404), assigned.text
        assert deleted.status_code == 204


async def test_a_team_project_is_no_personal_one_and_is_under_its_own_team_only(person: Person, team: str):
    own = await _create(person.session, "/v1/projects")
    teams_own = await _create(person.session, f"/v1/teams/{team}/projects")
    other_team = await found_team(person)
    for path in (
        f"/v1/projects/{teams_own}",
        f"/v1/teams/{team}/projects/{own}",
        f"/v1/teams/{other_team}/projects/{teams_own}",
    ):
        assert code_of(await person.session.get(path)) == "project.not_found"
    listed = (await person.session.get("/v1/projects")).json()["data"]
    assert [each["id"] for each in listed] == [own]


async def test_billing_sees_the_plan_but_no_members_projects_or_sites(
    person: Person, team: str, new_person: NewPerson, plane: ControlPlane
):
    accountant = await new_person()
    await add_member(person.session, team, accountant.id, "billing")
    project = await _create(person.session, f"/v1/teams/{team}/projects")
    site = await _insert_site(plane, team=team, project=project)
    for client in (accountant.session, await accountant.key()):
        assert (await client.get(f"/v1/teams/{team}/plan")).json()["data"]["usage"]["sites"] == 1
        for path in ("members", "projects", "sites", "invites", "audit", f"projects/{project}"):
            assert code_of(await client.get(f"/v1/teams/{team}/{path}")) == "role.insufficient", path
        assert code_of(await client.get(f"/v1/sites/{site}/audit")) == "site.not_found"


async def test_an_observer_reads_projects_and_sites_and_changes_none(
    person: Person, team: str, new_person: NewPerson, plane: ControlPlane
):
    observer = await new_person()
    await add_member(person.session, team, observer.id, "observer")
    project = await _create(person.session, f"/v1/teams/{team}/projects")
    site = await _insert_site(plane, team=team, project=project)
    path = f"/v1/teams/{team}/projects/{project}"
    assert await _sites(observer.session, path) == [site]
    assert await _sites(observer.session, f"/v1/teams/{team}") == [site]
    assert code_of(await observer.session.delete(f"{path}/sites/{site}")) == "role.insufficient"
    assert await _sites(observer.session, path) == [site]
