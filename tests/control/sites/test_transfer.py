"""A site changes hands: only into hands of the caller's own, wholly, and both sides read of it."""

import asyncio
from typing import Any

import pytest

from stead.control.http.principal import Pin
from stead.shared.roles import Role
from tests import teams
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.control.sites.estate import Estate, read
from tests.people import Person
from tests.teams import found_team


async def _give(client: Client, site: str, **target: object) -> Any:
    return await client.post(f"/v1/sites/{site}/transfer", json=target)


async def _audit(client: Client, team: str) -> list[tuple[str, str]]:
    rows = (await client.get(f"/v1/teams/{team}/audit")).json()["data"]
    return [(row["event"], row["site_id"]) for row in rows if row["event"] == "site_transfer"]


@pytest.fixture
async def site(person: Person, estate: Estate) -> str:
    return (await estate.site(account=person.id))[0]


@pytest.mark.parametrize("both", [True, False])
async def test_there_is_exactly_one_target(person: Person, site: str, both: bool):
    target = {"to_team_id": await found_team(person), "to_client_id": person.id} if both else {}
    assert code_of(await _give(person.session, site, **target)) == "request.field_invalid"


@pytest.mark.parametrize(
    "target", [{"to_team_id": None}, {"to_client_id": None}, {"to_team_id": 1}, {"to": "x"}], ids=str
)
async def test_a_target_is_named_by_its_id(person: Person, site: str, target: dict[str, object]):
    assert code_of(await _give(person.session, site, **target)) == "request.field_invalid"


async def test_nobody_gives_a_site_to_another_account(person: Person, stranger: Person, site: str):
    for target in (stranger.id, "client_x", "", site):
        refused = await _give(person.session, site, to_client_id=target)
        assert (refused.status_code, code_of(refused)) == (404, "account.not_found")
    assert code_of(await stranger.session.get(f"/v1/sites/{site}")) == "site.not_found"


async def test_nobody_takes_the_site_of_another(person: Person, stranger: Person, site: str):
    team = await found_team(stranger)
    for target in ({"to_client_id": stranger.id}, {"to_team_id": team}):
        assert code_of(await _give(stranger.session, site, **target)) == "site.not_found"


@pytest.mark.parametrize("role", [Role.SITE_MANAGER, Role.OBSERVER])
async def test_a_site_goes_only_into_teams_that_one_administers(
    person: Person, stranger: Person, site: str, role: Role, estate: Estate
):
    team = await found_team(stranger)
    assert code_of(await _give(person.session, site, to_team_id=team)) == "team.not_found"
    async with person.transaction() as tx:
        await teams.insert_member(tx, team, person.id, role)
    refused = await _give(person.session, site, to_team_id=team)
    assert (refused.status_code, code_of(refused)) == (403, "site.target_not_administered")
    assert await estate.events(site) == []
    await estate.run("update team_members set role = 'admin' where account_id = $1", person.id)
    assert (await _give(person.session, site, to_team_id=team)).status_code == 200


async def test_an_observer_of_the_team_gives_nothing_away(person: Person, stranger: Person, estate: Estate):
    team = await found_team(stranger)
    site, _ = await estate.site(team=team)
    async with person.transaction() as tx:
        await teams.insert_member(tx, team, person.id, Role.OBSERVER)
    assert code_of(await _give(person.session, site, to_client_id=person.id)) == "role.insufficient"


async def test_it_takes_the_scope_of_an_administrator(person: Person, site: str):
    key = await person.key("sites:write")
    refused = await _give(key, site, to_client_id=person.id)
    assert (code_of(refused), "sites:admin" in refused.text) == ("scope.insufficient", True)


@pytest.mark.parametrize("kind", ["site", "project", "team"])
async def test_a_pinned_key_gives_nothing_out_of_its_pin(person: Person, estate: Estate, kind: str):
    team, other = await found_team(person), await found_team(person)
    async with person.transaction() as tx:
        project = await teams.insert_project(tx, team=team)
        site = await teams.insert_site(tx, team=team, project=project)
        pin = Pin(kind, {"site": site, "project": project, "team": team}[kind])  # type: ignore[arg-type]
        _, secret = await teams.insert_key(tx, person.id, pin=pin)
    key = person.session.as_(secret)
    assert (await _give(key, site, to_client_id=person.id)).status_code == 404
    assert (await _give(key, site, to_team_id=other)).status_code == 404
    assert (await read(person.session, site))["team_id"] == team


@pytest.mark.parametrize("status", ["queued", "running"])
async def test_a_site_with_a_job_under_way_stays(person: Person, estate: Estate, site: str, status: str):
    team = await found_team(person)
    async with person.transaction() as tx:
        job = await teams.insert_job(tx, site, person.id, status=status)
    assert code_of(await _give(person.session, site, to_team_id=team)) == "site.busy"
    await estate.run("update jobs set status = 'failed' where id = $1", job)
    assert (await _give(person.session, site, to_team_id=team)).status_code == 200


async def test_the_plan_of_the_target_must_have_room(person: Person, estate: Estate, narrow: str):
    async with person.transaction() as tx:
        team = await teams.insert_team(tx, person.id, plan=narrow)
    sites = [(await estate.site(account=person.id))[0] for _ in range(6)]
    answers = await asyncio.gather(*(_give(person.session, each, to_team_id=team) for each in sites))
    assert sorted(code_of(each) for each in answers) == ["200", *["quota.sites"] * 5]
    assert await estate.value("select count(*) from sites where team_id = $1", team) == 1


async def test_whoever_has_a_full_plan_may_still_keep_what_is_there(
    new_person: NewPerson, estate: Estate, narrow: str
):
    person = await new_person(plan=narrow)
    site, _ = await estate.site(account=person.id)
    assert (await _give(person.session, site, to_client_id=person.id)).status_code == 200


async def test_a_site_moves_wholly_and_keeps_its_ids(person: Person, stranger: Person, estate: Estate):
    old, new = await found_team(person), await found_team(person)
    async with person.transaction() as tx:
        await teams.insert_member(tx, old, stranger.id, Role.ADMIN)
        project = await teams.insert_project(tx, team=old)
        site = await teams.insert_site(tx, team=old, project=project)
        job = await teams.insert_job(tx, site, old, status="failed")
    before = await read(stranger.session, site)
    env = await estate.value("select id from environments where site_id = $1", site)
    given = await _give(person.session, site, to_team_id=new)
    assert given.json()["data"] == {"site_id": site, "functions_transferred": 0}
    assert await read(person.session, site) == {**before, "team_id": new, "project_id": None}
    assert await estate.value("select id from environments where site_id = $1", site) == env
    for path in (f"/v1/sites/{site}", f"/v1/jobs/{job}", f"/v1/sites/{site}/capabilities"):
        assert (await stranger.session.get(path)).status_code == 404
        assert (await person.session.get(path)).status_code == 200
    assert (await stranger.session.get("/v1/sites")).json()["data"] == []
    assert await _audit(person.session, old) == [("site_transfer", site)]
    assert await _audit(person.session, new) == [("site_transfer", site)]
    assert await estate.events(site) == ["site.transferred"] * 2
    told = "select string_agg(concat_ws(' ', team_id, data ->> 'from_team', data ->> 'to_team'), '; '"
    both = await estate.value(f"{told} order by written) from events where site_id = $1", site)
    assert both == f"{old} {old} {new}; {new} {old} {new}"


async def test_a_site_goes_from_a_person_into_a_team_and_back(person: Person, estate: Estate, site: str):
    team = await found_team(person)
    assert (await _give(person.session, site, to_team_id=team)).status_code == 200
    assert (await read(person.session, site))["team_id"] == team
    assert await estate.value("select account_id from sites where id = $1", site) is None
    assert (await _give(person.session, site, to_client_id=person.id)).status_code == 200
    assert (await read(person.session, site))["team_id"] is None
    assert await _audit(person.session, team) == [("site_transfer", site)] * 2
    own = (
        "select count(*) from audit_events where event = 'site_transfer' and site_id = $1 and team_id is null"
    )
    assert await estate.value(own, site) == 2
    assert await estate.events(site) == ["site.transferred"] * 4


async def test_a_refused_transfer_is_told_to_nobody(
    person: Person, stranger: Person, estate: Estate, site: str
):
    team = await found_team(stranger)
    for target in ({"to_team_id": team}, {"to_client_id": stranger.id}):
        await _give(person.session, site, **target)
    assert await estate.events(site) == []
    assert await _audit(stranger.session, team) == []
