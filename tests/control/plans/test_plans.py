"""What a plan allows, what of it is used, and that two who take the last place at once do not both get it."""

import asyncio

import pytest

from stead.control.app import ControlPlane
from stead.control.plans import service
from stead.control.plans.rules import Owner, SitesExhausted
from stead.shared.ids import TeamId
from tests import teams
from tests.conftest import NewPerson
from tests.patience import time_limit
from tests.people import Person
from tests.teams import found_team


@pytest.mark.parametrize(
    ("plan", "label", "limits"),
    [("free", "Free", (1, 3, 2, 1, 1)), ("pro", "Pro", (5, 15, 10, 4, 25))],
)
async def test_a_team_reads_what_the_plan_of_its_founder_allows(
    new_person: NewPerson, plan: str, label: str, limits: tuple[int, ...]
):
    person = await new_person(plan=plan)
    team = await found_team(person)
    found = (await person.session.get(f"/v1/teams/{team}/plan")).json()["data"]
    assert (found["plan"], found["label"]) == (plan, label)
    names = (
        "max_sites",
        "max_environments",
        "max_branches_per_site",
        "max_concurrent_jobs",
        "max_storage_gb",
    )
    assert found["limits"] == dict(zip(names, limits, strict=True))
    assert found["usage"] == {"sites": 0, "environments": 0, "storage_gb": 0.0}


async def test_usage_is_live_and_counts_no_deleted_site(person: Person, plane: ControlPlane):
    team = await found_team(person)

    async def used() -> int:
        found = (await person.session.get(f"/v1/teams/{team}/plan")).json()["data"]
        return int(found["usage"]["sites"])

    for count in (1, 2):
        async with plane.database.transaction() as tx:
            site = await teams.insert_site(tx, team=team)
        assert await used() == count
    async with plane.database.transaction() as tx:
        await tx.run("update sites set status = 'deleted' where id = $1", site)
        await teams.insert_site(tx, account=person.id)
    assert await used() == 1


async def test_the_figures_are_data(person: Person, plane: ControlPlane):
    team = await found_team(person)
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into plans select 'trial', 'Trial', 2, max_environments, max_branches_per_site,"
            " max_concurrent_jobs, max_storage_gb, rate_read, rate_write, rate_create, rate_ceiling"
            " from plans where name = 'pro' on conflict do nothing"
        )
        await tx.run("update plans set max_sites = 2 where name = 'trial'")
        await tx.run("update teams set plan = 'trial' where id = $1", team)
    owner = Owner(team_id=TeamId(team))
    assert [await _take(plane, owner) for _ in range(3)] == [True, True, False]
    async with plane.database.transaction() as tx:
        await tx.run("update plans set max_sites = 3 where name = 'trial'")
    assert await _take(plane, owner) is True


async def _take(plane: ControlPlane, owner: Owner) -> bool:
    """Create a site, if there is room."""
    try:
        async with plane.database.transaction() as tx:
            await service.require_room(tx, owner, "sites")
            await asyncio.sleep(0.002)
            await teams.insert_site(tx, account=owner.account_id, team=owner.team_id)
    except SitesExhausted:
        return False
    return True


@pytest.mark.parametrize("kind", ["account", "team"])
@pytest.mark.parametrize(("plan", "places"), [("free", 1), ("pro", 5)])
async def test_of_two_who_take_the_last_place_at_once_one_gets_it(
    new_person: NewPerson, plane: ControlPlane, kind: str, plan: str, places: int
):
    for _ in range(20):
        person = await new_person(plan=plan)
        if kind == "team":
            async with plane.database.transaction() as tx:
                owner = Owner(team_id=await teams.insert_team(tx, person.id, plan=plan))
        else:
            owner = Owner(account_id=person.id)
        assert all([await _take(plane, owner) for _ in range(places - 1)])
        assert sorted(await asyncio.gather(_take(plane, owner), _take(plane, owner))) == [False, True]


async def test_one_owner_does_not_wait_for_another(new_person: NewPerson, plane: ControlPlane):
    one, two = [Owner(account_id=(await new_person(plan="free")).id) for _ in range(2)]
    async with plane.database.transaction() as tx, time_limit(5):
        await service.require_room(tx, one, "sites")
        assert await _take(plane, two) is True


async def test_a_personal_site_counts_against_no_team_and_a_teams_against_no_person(
    new_person: NewPerson, plane: ControlPlane
):
    person = await new_person(plan="free")
    async with plane.database.transaction() as tx:
        team = await teams.insert_team(tx, person.id, plan="free")
    for owner in (Owner(account_id=person.id), Owner(team_id=team)):
        assert [await _take(plane, owner), await _take(plane, owner)] == [True, False]
    assert SitesExhausted.status == 429
