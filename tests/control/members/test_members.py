"""Appointing, changing and leaving, through the API."""

import asyncio
from datetime import timedelta
from typing import Any

import pytest

from stead.shared.clock import MovableClock
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.people import Person
from tests.teams import add_member, found_team


@pytest.fixture
async def team(person: Person) -> str:
    return await found_team(person)


@pytest.fixture
async def other(new_person: NewPerson) -> Person:
    return await new_person()


async def _members(client: Client, team: str) -> dict[str, Any]:
    listed = await client.get(f"/v1/teams/{team}/members")
    return {each["client_id"]: each for each in listed.json()["data"]}


async def test_a_member_is_listed_with_name_role_and_end(
    person: Person, team: str, other: Person, clock: MovableClock
):
    ends = clock() + timedelta(days=3)
    await add_member(person.session, team, other.id, "site_manager", ends)
    listed = await _members(person.session, team)
    assert list(listed) == [other.id, person.id]
    member = listed[other.id]
    assert (member["email"], member["name"], member["role"]) == (
        other.account.email,
        "A Person",
        "site_manager",
    )
    assert member["expires_at"] is not None
    assert listed[person.id]["expires_at"] is None


async def test_an_account_joins_a_team_once(person: Person, team: str, other: Person):
    await add_member(person.session, team, other.id, "observer")
    again = await person.session.post(
        f"/v1/teams/{team}/members", json={"client_id": other.id, "role": "admin"}
    )
    assert code_of(again) == "member.exists"


@pytest.mark.parametrize("whom", [f"client_{'0' * 26}", "nobody", f"team_{'0' * 26}"])
async def test_only_an_account_that_exists_can_be_added(person: Person, team: str, whom: str):
    added = await person.session.post(f"/v1/teams/{team}/members", json={"client_id": whom, "role": "admin"})
    assert code_of(added) == "account.not_found"


async def test_an_expired_member_is_out_on_the_next_request_and_so_are_their_keys(
    person: Person, team: str, other: Person, clock: MovableClock
):
    await add_member(person.session, team, other.id, "admin", clock() + timedelta(hours=1))
    key = await other.key()
    for client in (other.session, key):
        assert (await client.get(f"/v1/teams/{team}")).status_code == 200
    clock.move(timedelta(hours=1))
    for client in (other.session, key):
        assert code_of(await client.get(f"/v1/teams/{team}")) == "team.not_found"
        assert code_of(await client.patch(f"/v1/teams/{team}", json={"name": "x"})) == "team.not_found"
        assert (await client.get("/v1/teams")).json()["data"] == []
    assert list(await _members(person.session, team)) == [person.id]


async def test_a_removed_member_is_out_on_the_next_request_and_so_are_their_keys(
    person: Person, team: str, other: Person
):
    await add_member(person.session, team, other.id, "admin")
    key = await other.key()
    assert (await key.get(f"/v1/teams/{team}")).status_code == 200
    assert (await person.session.delete(f"/v1/teams/{team}/members/{other.id}")).status_code == 204
    for client in (other.session, key):
        assert code_of(await client.get(f"/v1/teams/{team}")) == "team.not_found"


async def test_a_demotion_counts_on_the_next_request_also_for_keys(person: Person, team: str, other: Person):
    await add_member(person.session, team, other.id, "admin")
    key = await other.key()
    assert (await key.patch(f"/v1/teams/{team}", json={"name": "x"})).status_code == 200
    demoted = await person.session.patch(f"/v1/teams/{team}/members/{other.id}", json={"role": "observer"})
    assert demoted.status_code == 204
    assert code_of(await key.patch(f"/v1/teams/{team}", json={"name": "y"})) == "role.insufficient"


async def test_an_end_is_set_cleared_or_left_as_it_is(
    person: Person, team: str, other: Person, clock: MovableClock
):
    await add_member(person.session, team, other.id, "observer", clock() + timedelta(days=1))
    path = f"/v1/teams/{team}/members/{other.id}"

    async def end_after(**change: Any) -> str | None:
        assert (await person.session.patch(path, json={"role": "observer", **change})).status_code == 204
        end: str | None = (await _members(person.session, team))[other.id]["expires_at"]
        return end

    first = await end_after()
    assert first is not None
    later = await end_after(expires_at=(clock() + timedelta(days=2)).isoformat())
    assert later is not None
    assert later > first
    assert await end_after(expires_at=None) is None
    past = await person.session.patch(
        path, json={"role": "observer", "expires_at": (clock() - timedelta(days=1)).isoformat()}
    )
    assert code_of(past) == "request.field_invalid"


@pytest.mark.parametrize("role", ["admin", "site_manager", "observer", "billing"])
async def test_anybody_may_leave(person: Person, team: str, other: Person, role: str):
    await add_member(person.session, team, other.id, role)
    assert (await other.session.delete(f"/v1/teams/{team}/members/{other.id}")).status_code == 204
    assert other.id not in await _members(person.session, team)


async def test_the_last_owner_cannot_leave_step_down_or_end(person: Person, team: str, clock: MovableClock):
    path = f"/v1/teams/{team}/members/{person.id}"
    ends = (clock() + timedelta(days=1)).isoformat()
    assert code_of(await person.session.delete(path)) == "team.last_owner"
    assert code_of(await person.session.patch(path, json={"role": "admin"})) == "team.last_owner"
    ending = await person.session.patch(path, json={"role": "owner", "expires_at": ends})
    assert code_of(ending) == "team.last_owner"


async def test_an_owner_who_will_expire_does_not_count_as_the_last_one(
    person: Person, team: str, other: Person, clock: MovableClock
):
    await add_member(person.session, team, other.id, "owner", clock() + timedelta(days=1))
    path = f"/v1/teams/{team}/members/{person.id}"
    assert code_of(await person.session.delete(path)) == "team.last_owner"
    assert code_of(await other.session.delete(path)) == "team.last_owner"


async def test_an_admin_changes_no_owner_and_makes_none(person: Person, team: str, other: Person):
    await add_member(person.session, team, other.id, "admin")
    owner, me = (f"/v1/teams/{team}/members/{each.id}" for each in (person, other))
    assert code_of(await other.session.patch(owner, json={"role": "observer"})) == "role.insufficient"
    assert code_of(await other.session.delete(owner)) == "role.insufficient"
    assert code_of(await other.session.patch(me, json={"role": "owner"})) == "role.insufficient"


async def test_choosing_a_default_team_while_being_removed_from_it_breaks_nothing(
    person: Person, team: str, other: Person
):
    for _ in range(12):
        await add_member(person.session, team, other.id, "observer")
        chosen, removed = await asyncio.gather(
            other.session.patch("/v1/account", json={"default_team_id": team}),
            person.session.delete(f"/v1/teams/{team}/members/{other.id}"),
        )
        assert chosen.status_code in (204, 422)
        assert removed.status_code == 204
        account = (await other.session.get("/v1/account")).json()["data"]
        assert account["default_team_id"] is None, "a team that one does not belong to is nobody's default"


async def test_changing_the_account_while_being_removed_from_its_default_team_is_no_fault(
    person: Person, team: str, other: Person
):
    """Both touch the account and the team: they must come to them in one order."""
    for _ in range(12):
        await add_member(person.session, team, other.id, "observer")
        change = {"name": "Somebody", "default_team_id": team}
        assert (await other.session.patch("/v1/account", json=change)).status_code == 204
        changed, removed = await asyncio.gather(
            other.session.patch("/v1/account", json=change),
            person.session.delete(f"/v1/teams/{team}/members/{other.id}"),
        )
        assert changed.status_code in (204, 422), changed.text
        assert removed.status_code == 204, removed.text
