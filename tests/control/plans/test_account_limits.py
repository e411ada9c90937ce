"""What an account can create is limited, however many teams and keys it uses for it."""

from typing import Any

import pytest

from stead.control.http.rate_limits import own_key
from stead.control.jobs.rules import MAX_QUEUED
from tests import teams
from tests.client import code_of
from tests.conftest import NewPerson
from tests.people import Person


@pytest.fixture
async def free(new_person: NewPerson) -> Person:
    return await new_person(plan="free")


async def _forget_rates(person: Person) -> None:
    """These tests are about quotas: a free account creates only a few things a minute."""
    redis = person._plane.redis
    async with person.transaction() as tx:
        session = await tx.value("select id from sessions where account_id = $1", person.id)
    await redis.execute("DEL", own_key(session, "create"), own_key(person.id, "create"))


async def _create(person: Person, path: str, body: dict[str, Any], times: int) -> list[str]:
    codes = []
    for _ in range(times):
        await _forget_rates(person)
        codes.append(code_of(await person.session.post(path, json=body)))
    return codes


async def test_a_free_account_creates_a_limited_number_of_each(free: Person):
    assert await _create(free, "/v1/teams", {"name": "A Team"}, 4) == ["201"] * 3 + ["quota.teams"]
    team = (await free.session.get("/v1/teams")).json()["data"][0]["team_id"]
    keys = await _create(free, "/v1/api-keys", {"scopes": ["sites:read"]}, 21)
    assert keys == ["201"] * 20 + ["quota.keys"]
    projects = await _create(free, "/v1/projects", {"name": "A Project"}, 11)
    assert projects == ["201"] * 10 + ["quota.projects"]
    invites = await _create(free, f"/v1/teams/{team}/invites", {"role": "observer"}, 11)
    assert invites == ["201"] * 10 + ["quota.invites"]
    endpoints = await _create(free, "/v1/webhook-endpoints", {"url": "https://hooks.example.com/"}, 6)
    assert endpoints == ["201"] * 5 + ["quota.webhook_endpoints"]


async def test_a_revoked_key_makes_room_for_another(free: Person):
    await _create(free, "/v1/api-keys", {"scopes": ["sites:read"]}, 20)
    key = (await free.session.get("/v1/api-keys")).json()["data"][0]["id"]
    assert (await free.session.delete(f"/v1/api-keys/{key}")).status_code == 204
    assert await _create(free, "/v1/api-keys", {"scopes": ["sites:read"]}, 1) == ["201"]


async def test_a_team_of_a_free_account_brings_no_quota_of_its_own(free: Person):
    await _create(free, "/v1/teams", {"name": "A Team"}, 2)
    first, second = (each["team_id"] for each in (await free.session.get("/v1/teams")).json()["data"])
    async with free.transaction() as tx:
        await teams.insert_site(tx, team=first)
    for owner in ({}, {"team_id": first}, {"team_id": second}):
        await _forget_rates(free)
        body = {"domain": f"{free.id.replace('_', '-')}.example.org", "profile": "static", **owner}
        assert code_of(await free.session.post("/v1/sites", json=body)) == "quota.sites"
    plan = (await free.session.get(f"/v1/teams/{second}/plan")).json()["data"]
    assert (plan["usage"]["sites"], plan["limits"]["max_sites"]) == (1, 1)


async def test_the_jobs_of_all_teams_of_a_free_account_count_together(free: Person):
    await _create(free, "/v1/teams", {"name": "A Team"}, 2)
    owners = [each["team_id"] for each in (await free.session.get("/v1/teams")).json()["data"]]
    async with free.transaction() as tx:
        sites = [await teams.insert_site(tx, team=team) for team in owners]
        for _ in range(MAX_QUEUED - 1):
            await teams.insert_job(tx, sites[0], free.id)
    codes = [code_of(await free.session.post(f"/v1/sites/{site}/restart")) for site in sites]
    assert codes == ["202", "quota.jobs"]
    async with free.transaction() as tx:
        await tx.run("delete from jobs where owner = $1", free.id)


async def test_the_teams_of_a_paying_account_have_quotas_of_their_own(new_person: NewPerson):
    person = await new_person(plan="pro")
    await _create(person, "/v1/teams", {"name": "A Team"}, 2)
    first, second = (each["team_id"] for each in (await person.session.get("/v1/teams")).json()["data"])
    async with person.transaction() as tx:
        await teams.insert_site(tx, team=first)
    plan = (await person.session.get(f"/v1/teams/{second}/plan")).json()["data"]
    assert plan["usage"]["sites"] == 0


async def test_more_keys_do_not_allow_more_to_be_created_in_a_minute(free: Person):
    """Each key may create five things a minute, the account ten."""
    keys = [await free.key() for _ in range(4)]
    codes = [
        code_of(await key.post("/v1/projects", json={"name": "A Project"})) for _ in range(5) for key in keys
    ]
    assert codes.count("rate_limit.exceeded") >= 8
    assert codes.count("201") + codes.count("quota.projects") <= 12
