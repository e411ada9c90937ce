"""Transferring a site to a team or back to the account of the caller."""

import asyncio
from typing import Any

import pytest

from stead.control.http.principal import Pin
from stead.shared.roles import Role
from tests import teams
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.control.site_driver import SiteDriver, read_site
from tests.people import Person
from tests.teams import found_team


async def _transfer(client: Client, site: str, **target: object) -> Any:
    return await client.post(f"/v1/sites/{site}/transfer", json=target)


async def _audit(client: Client, team: str) -> list[tuple[str, str]]:
    rows = (await client.get(f"/v1/teams/{team}/audit")).json()["data"]
    return [(row["event"], row["site_id"]) for row in rows if row["event"] == "site_transfer"]


@pytest.fixture
async def site(person: Person, driver: SiteDriver) -> str:
    return (await driver.insert_site(account=person.id))[0]


@pytest.mark.parametrize("both", [True, False])
async def test_a_transfer_has_exactly_one_target(person: Person, site: str, both: bool):
    target = {"to_team_id": await found_team(person), "to_client_id": person.id} if both else {}
    assert code_of(await _transfer(person.session, site, **target)) == "request.field_invalid"


@pytest.mark.parametrize(
    "target", [{"to_team_id": None}, {"to_client_id": None}, {"to_team_id": 1}, {"to": "x"}], ids=str
)
async def test_a_target_must_be_an_id(person: Person, site: str, target: dict[str, object]):
    assert code_of(await _transfer(person.session, site, **target)) == "request.field_invalid"


async def test_a_site_cannot_be_transferred_to_another_account(person: Person, stranger: Person, site: str):
    for target in (stranger.id, "client_x", "", site):
        refused = await _transfer(person.session, site, to_client_id=target)
        assert (refused.status_code, code_of(refused)) == (404, "account.not_found")
    assert code_of(await stranger.session.get(f"/v1/sites/{site}")) == "site.not_found"


async def test_a_site_of_another_tenant_cannot_be_transferred(person: Person, stranger: Person, site: str):
    team = await found_team(stranger)
    for target in ({"to_client_id": stranger.id}, {"to_team_id": team}):
        assert code_of(await _transfer(stranger.session, site, **target)) == "site.not_found"


@pytest.mark.parametrize("role", [Role.SITE_MANAGER, Role.OBSERVER])
async def test_a_site_can_be_transferred_only_to_teams_that_the_caller_administers(
    person: Person, stranger: Person, site: str, role: Role, driver: SiteDriver
):
    team = await found_team(stranger)
    assert code_of(await _transfer(person.session, site, to_team_id=team)) == "team.not_found"
    async with person.transaction() as tx:
        await teams.insert_member(tx, team, person.id, role)
    refused = await _transfer(person.session, site, to_team_id=team)
    assert (refused.status_code, code_of(refused)) == (403, "site.target_not_administered")
    assert await driver.event_types(site) == []
    await driver.execute("update team_members set role = 'admin' where account_id = $1", person.id)
    assert (await _transfer(person.session, site, to_team_id=team)).status_code == 200


async def test_an_observer_cannot_transfer_a_site_of_the_team(
    person: Person, stranger: Person, driver: SiteDriver
):
    team = await found_team(stranger)
    site, _ = await driver.insert_site(team=team)
    async with person.transaction() as tx:
        await teams.insert_member(tx, team, person.id, Role.OBSERVER)
    assert code_of(await _transfer(person.session, site, to_client_id=person.id)) == "role.insufficient"


async def test_a_transfer_requires_the_admin_scope(person: Person, site: str):
    key = await person.key("sites:write")
    refused = await _transfer(key, site, to_client_id=person.id)
    assert (code_of(refused), "sites:admin" in refused.text) == ("scope.insufficient", True)


@pytest.mark.parametrize("kind", ["site", "project", "team"])
async def test_a_pinned_key_cannot_transfer_a_site_out_of_its_pin(
    person: Person, driver: SiteDriver, kind: str
):
    team, other = await found_team(person), await found_team(person)
    async with person.transaction() as tx:
        project = await teams.insert_project(tx, team=team)
        site = await teams.insert_site(tx, team=team, project=project)
        pin = Pin(kind, {"site": site, "project": project, "team": team}[kind])  # type: ignore[arg-type]
        _, secret = await teams.insert_key(tx, person.id, pin=pin)
    key = person.session.as_(secret)
    assert (await _transfer(key, site, to_client_id=person.id)).status_code == 404
    assert (await _transfer(key, site, to_team_id=other)).status_code == 404
    assert (await read_site(person.session, site))["team_id"] == team


@pytest.mark.parametrize("status", ["queued", "running"])
async def test_a_site_with_an_unfinished_job_cannot_be_transferred(
    person: Person, driver: SiteDriver, site: str, status: str
):
    team = await found_team(person)
    async with person.transaction() as tx:
        job = await teams.insert_job(tx, site, person.id, status=status)
    assert code_of(await _transfer(person.session, site, to_team_id=team)) == "site.busy"
    await driver.execute("update jobs set status = 'failed' where id = $1", job)
    assert (await _transfer(person.session, site, to_team_id=team)).status_code == 200


async def test_a_transfer_requires_room_in_the_plan_of_the_target(
    person: Person, driver: SiteDriver, one_site_plan: str
):
    async with person.transaction() as tx:
        team = await teams.insert_team(tx, person.id, plan=one_site_plan)
    sites = [(await driver.insert_site(account=person.id))[0] for _ in range(6)]
    answers = await asyncio.gather(*(_transfer(person.session, each, to_team_id=team) for each in sites))
    assert sorted(code_of(each) for each in answers) == ["200", *["quota.sites"] * 5]
    assert await driver.fetch_value("select count(*) from sites where team_id = $1", team) == 1


async def test_a_transfer_to_the_current_owner_works_with_a_full_plan(
    new_person: NewPerson, driver: SiteDriver, one_site_plan: str
):
    person = await new_person(plan=one_site_plan)
    site, _ = await driver.insert_site(account=person.id)
    assert (await _transfer(person.session, site, to_client_id=person.id)).status_code == 200


async def test_a_transferred_site_keeps_its_ids_and_is_hidden_from_the_old_team(
    person: Person, stranger: Person, driver: SiteDriver
):
    old, new = await found_team(person), await found_team(person)
    async with person.transaction() as tx:
        await teams.insert_member(tx, old, stranger.id, Role.ADMIN)
        project = await teams.insert_project(tx, team=old)
        site = await teams.insert_site(tx, team=old, project=project)
        job = await teams.insert_job(tx, site, old, status="failed")
    before = await read_site(stranger.session, site)
    env = await driver.fetch_value("select id from environments where site_id = $1", site)
    given = await _transfer(person.session, site, to_team_id=new)
    assert given.json()["data"] == {"site_id": site, "functions_transferred": 0}
    assert await read_site(person.session, site) == {**before, "team_id": new, "project_id": None}
    assert await driver.fetch_value("select id from environments where site_id = $1", site) == env
    for path in (f"/v1/sites/{site}", f"/v1/jobs/{job}", f"/v1/sites/{site}/capabilities"):
        assert (await stranger.session.get(path)).status_code == 404
        assert (await person.session.get(path)).status_code == 200
    assert (await stranger.session.get("/v1/sites")).json()["data"] == []
    assert await _audit(person.session, old) == [("site_transfer", site)]
    assert await _audit(person.session, new) == [("site_transfer", site)]
    assert await driver.event_types(site) == ["site.transferred"] * 2
    sql = "select string_agg(concat_ws(' ', team_id, data ->> 'from_team', data ->> 'to_team'), '; '"
    both = await driver.fetch_value(f"{sql} order by written) from events where site_id = $1", site)
    assert both == f"{old} {old} {new}; {new} {old} {new}"


async def test_a_site_can_be_transferred_to_a_team_and_back(person: Person, driver: SiteDriver, site: str):
    team = await found_team(person)
    assert (await _transfer(person.session, site, to_team_id=team)).status_code == 200
    assert (await read_site(person.session, site))["team_id"] == team
    assert await driver.fetch_value("select account_id from sites where id = $1", site) is None
    assert (await _transfer(person.session, site, to_client_id=person.id)).status_code == 200
    assert (await read_site(person.session, site))["team_id"] is None
    assert await _audit(person.session, team) == [("site_transfer", site)] * 2
    own = (
        "select count(*) from audit_events where event = 'site_transfer' and site_id = $1 and team_id is null"
    )
    assert await driver.fetch_value(own, site) == 2
    assert await driver.event_types(site) == ["site.transferred"] * 4


async def test_a_refused_transfer_publishes_and_records_nothing(
    person: Person, stranger: Person, driver: SiteDriver, site: str
):
    team = await found_team(stranger)
    for target in ({"to_team_id": team}, {"to_client_id": stranger.id}):
        await _transfer(person.session, site, **target)
    assert await driver.event_types(site) == []
    assert await _audit(stranger.session, team) == []


async def test_a_site_manager_cannot_take_or_delete_the_site_of_a_team(
    person: Person, stranger: Person, driver: SiteDriver
):
    team = await found_team(person)
    async with person.transaction() as tx:
        await teams.insert_member(tx, team, stranger.id, Role.SITE_MANAGER)
        site = await teams.insert_site(tx, team=team)
    domain = (await read_site(stranger.session, site))["domain"]
    attempts = [
        await _transfer(stranger.session, site, to_client_id=stranger.id),
        await stranger.session.request("DELETE", f"/v1/sites/{site}", json={"confirm_domain": domain}),
    ]
    assert {code_of(each) for each in attempts} == {"role.insufficient"}
    assert (await read_site(person.session, site))["team_id"] == team
    assert (await stranger.session.post(f"/v1/sites/{site}/restart")).status_code == 202
