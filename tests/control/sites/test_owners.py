"""The owner of a new site: the account or a team, within the pin and the mode of the key."""

import pytest

from stead.control.http.principal import Pin
from stead.shared.roles import Role
from tests import teams
from tests.client import code_of
from tests.control.site_driver import SiteDriver, create_site, read_site, request_site
from tests.people import Person


@pytest.mark.parametrize("role", [Role.SITE_MANAGER, Role.OBSERVER])
async def test_only_administrators_of_a_team_create_sites_in_it(
    person: Person, stranger: Person, driver: SiteDriver, role: Role
):
    async with person.transaction() as tx:
        team = await teams.insert_team(tx, stranger.id)
    refused = await request_site(person.session, team_id=team)
    assert (refused.status_code, code_of(refused)) == (404, "team.not_found")
    async with person.transaction() as tx:
        await teams.insert_member(tx, team, person.id, role)
    refused = await request_site(person.session, team_id=team)
    assert (refused.status_code, code_of(refused)) == (403, "site.target_not_administered")
    await driver.execute("update team_members set role = 'admin' where account_id = $1", person.id)
    site = await create_site(person.session, team_id=team)
    assert site["team_id"] == team
    assert (await read_site(stranger.session, site["id"]))["id"] == site["id"]
    owner = "select owner from jobs where site_id = $1"
    assert await driver.fetch_value(owner, site["id"]) == team


@pytest.mark.parametrize("team", ["team_x", "", "nonsense", "team_01k9zy3v7d00r3m8w5x2t6b4qa", "' or 1=1 --"])
async def test_an_unknown_team_is_not_found(person: Person, team: str):
    assert code_of(await request_site(person.session, team_id=team)) == "team.not_found"


async def test_an_expired_administrator_cannot_create_a_site(person: Person, stranger: Person):
    async with person.transaction() as tx:
        team = await teams.insert_team(tx, stranger.id)
        await teams.insert_member(tx, team, person.id, Role.ADMIN, expires_at=tx.now)
    assert code_of(await request_site(person.session, team_id=team)) == "team.not_found"


async def test_a_pinned_key_creates_sites_only_in_its_team(person: Person, driver: SiteDriver):
    async with person.transaction() as tx:
        team, other = [await teams.insert_team(tx, person.id) for _ in range(2)]
        project = await teams.insert_project(tx, account=person.id)
        site = await teams.insert_site(tx, account=person.id, project=project)
        env = await tx.value("select id from environments where site_id = $1", site)
        pins = [Pin("team", team), Pin("site", site), Pin("project", project), Pin("environment", env)]
        secrets = [(await teams.insert_key(tx, person.id, pin=pin))[1] for pin in pins]
    by_team, *narrower = [person.session.as_(secret) for secret in secrets]
    assert (await create_site(by_team, team_id=team))["team_id"] == team
    assert (await request_site(by_team)).status_code == 404
    assert (await request_site(by_team, team_id=other)).status_code == 404
    for key in narrower:
        assert (await request_site(key)).status_code == 404
        assert (await request_site(key, team_id=team)).status_code == 404
    assert await driver.fetch_value("select count(*) from sites where account_id = $1", person.id) == 1


async def test_a_test_key_creates_test_sites_and_each_mode_sees_only_its_own(person: Person):
    live, test = await person.key(), await person.key(mode="test")
    real, simulated = await create_site(live), await create_site(test)
    for key, mine, other in ((live, real, simulated), (test, simulated, real)):
        assert [each["id"] for each in (await key.get("/v1/sites")).json()["data"]] == [mine["id"]]
        assert code_of(await key.get(f"/v1/sites/{other['id']}")) == "site.not_found"
        assert code_of(await key.post(f"/v1/sites/{other['id']}/restart")) == "site.not_found"
        jobs = (await key.get("/v1/jobs")).json()["data"]
        assert [each["resource"]["site_id"] for each in jobs] == [mine["id"]]
    both = (await person.session.get("/v1/sites")).json()["data"]
    assert [each["id"] for each in both] == [simulated["id"], real["id"]]


async def test_each_mode_has_its_own_domains(person: Person):
    live, test = await person.key(), await person.key(mode="test")
    real, simulated = await create_site(live), await create_site(test)
    assert (await request_site(live, simulated["domain"])).status_code == 202
    assert (await request_site(test, real["domain"])).status_code == 202
    assert code_of(await request_site(test, simulated["domain"])) == "site.domain_taken"
