"""Who can accept an invite, how often, until when, and on whose word."""

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
async def guest(new_person: NewPerson) -> Person:
    return await new_person()


async def _invite(client: Client, team: str, role: str = "observer", **more: Any) -> dict[str, Any]:
    made = await client.post(f"/v1/teams/{team}/invites", json={"role": role, **more})
    assert made.status_code == 201, made.text
    return dict(made.json()["data"])


async def _accept(guest: Person, invite: dict[str, Any]) -> str:
    return code_of(await guest.session.post("/v1/invites/accept", json={"token": invite["token"]}))


async def _role(person: Person, team: str) -> str | None:
    found = (await person.session.get("/v1/teams")).json()["data"]
    return next((each["my_role"] for each in found if each["team_id"] == team), None)


async def test_whoever_has_the_token_of_an_unaddressed_invite_joins_in_its_role(
    person: Person, team: str, guest: Person
):
    invite = await _invite(person.session, team, "site_manager")
    answer = await guest.session.post("/v1/invites/accept", json={"token": invite["token"]})
    assert answer.json()["data"] == {"team_id": team, "role": "site_manager"}
    assert await _role(guest, team) == "site_manager"


async def test_an_addressed_invite_is_for_its_account_only(
    person: Person, team: str, guest: Person, new_person: NewPerson
):
    invite = await _invite(person.session, team, email=guest.account.email)
    assert await _accept(await new_person(), invite) == "invite.not_found"
    assert await _accept(guest, invite) == "200"


async def test_an_address_is_compared_without_its_case(person: Person, team: str, guest: Person):
    invite = await _invite(person.session, team, email=guest.account.email.upper())
    assert invite["email"] == guest.account.email
    assert await _accept(guest, invite) == "200"


async def test_an_invite_works_once(person: Person, team: str, guest: Person, new_person: NewPerson):
    invite = await _invite(person.session, team)
    assert await _accept(guest, invite) == "200"
    assert await _accept(guest, invite) == "invite.not_found"
    assert await _accept(await new_person(), invite) == "invite.not_found"
    pending = await person.session.get(f"/v1/teams/{team}/invites")
    assert pending.json()["data"] == []


async def test_of_many_who_accept_at_once_one_joins(person: Person, team: str, new_person: NewPerson):
    guests = [await new_person() for _ in range(4)]
    invite = await _invite(person.session, team)
    answers = sorted(await asyncio.gather(*(_accept(each, invite) for each in guests)))
    assert answers == ["200", *["invite.not_found"] * 3]


async def test_an_invite_lasts_seven_days(
    person: Person, team: str, new_person: NewPerson, clock: MovableClock
):
    early, late = await _invite(person.session, team), await _invite(person.session, team)
    clock.move(timedelta(days=7) - timedelta(minutes=1))
    assert await _accept(await new_person(), early) == "200"
    clock.move(timedelta(minutes=2))
    assert await _accept(await new_person(), late) == "invite.not_found"


async def test_an_invite_ends_when_it_says(
    person: Person, team: str, new_person: NewPerson, clock: MovableClock
):
    ends = (clock() + timedelta(hours=1)).isoformat()
    invite = await _invite(person.session, team, expires_at=ends)
    clock.move(timedelta(hours=1))
    assert await _accept(await new_person(), invite) == "invite.not_found"
    listed = (await person.session.get(f"/v1/teams/{team}/invites")).json()["data"]
    assert listed == []


async def test_a_revoked_invite_is_gone(person: Person, team: str, guest: Person):
    invite = await _invite(person.session, team)
    path = f"/v1/teams/{team}/invites/{invite['id']}"
    assert (await person.session.delete(path)).status_code == 204
    assert code_of(await person.session.delete(path)) == "invite.not_found"
    assert await _accept(guest, invite) == "invite.not_found"


async def test_an_accepted_invite_cannot_be_revoked(person: Person, team: str, guest: Person):
    invite = await _invite(person.session, team)
    assert await _accept(guest, invite) == "200"
    revoked = await person.session.delete(f"/v1/teams/{team}/invites/{invite['id']}")
    assert code_of(revoked) == "invite.not_found"


async def test_a_member_cannot_accept_an_invite(person: Person, team: str, guest: Person):
    await add_member(person.session, team, guest.id, "observer")
    invite = await _invite(person.session, team, "admin")
    assert await _accept(guest, invite) == "member.exists"
    assert await _role(guest, team) == "observer"
    [pending] = (await person.session.get(f"/v1/teams/{team}/invites")).json()["data"]
    assert pending["id"] == invite["id"]


async def test_an_invite_does_not_outlive_the_membership_of_its_maker(
    person: Person, team: str, guest: Person, new_person: NewPerson
):
    admin = await new_person()
    await add_member(person.session, team, admin.id, "admin")
    invite = await _invite(admin.session, team)
    assert (await person.session.delete(f"/v1/teams/{team}/members/{admin.id}")).status_code == 204
    assert await _accept(guest, invite) == "invite.not_found"


async def test_an_invite_does_not_outlive_the_expiry_of_its_maker(
    person: Person, team: str, guest: Person, new_person: NewPerson, clock: MovableClock
):
    admin = await new_person()
    await add_member(person.session, team, admin.id, "admin", clock() + timedelta(hours=1))
    invite = await _invite(admin.session, team)
    clock.move(timedelta(hours=2))
    assert await _accept(guest, invite) == "invite.not_found"


@pytest.mark.parametrize("demoted", ["site_manager", "observer", "billing"])
@pytest.mark.parametrize("role", ["admin", "observer", "billing"])
async def test_an_invite_works_only_while_its_maker_could_still_make_it(
    person: Person, team: str, guest: Person, new_person: NewPerson, demoted: str, role: str
):
    admin = await new_person()
    await add_member(person.session, team, admin.id, "admin")
    invite = await _invite(admin.session, team, role)
    changed = await person.session.patch(f"/v1/teams/{team}/members/{admin.id}", json={"role": demoted})
    assert changed.status_code == 204
    refused = await admin.session.post(f"/v1/teams/{team}/invites", json={"role": role})
    assert code_of(refused) == "role.insufficient"
    assert await _accept(guest, invite) == "invite.not_found"


async def test_nobody_invites_above_their_own_role(person: Person, team: str, guest: Person):
    await add_member(person.session, team, guest.id, "admin")
    refused = await guest.session.post(f"/v1/teams/{team}/invites", json={"role": "owner"})
    assert code_of(refused) == "role.insufficient"


async def test_somebody_whose_membership_expired_can_be_invited_again(
    person: Person, team: str, guest: Person, clock: MovableClock
):
    await add_member(person.session, team, guest.id, "observer", clock() + timedelta(hours=1))
    clock.move(timedelta(hours=2))
    assert await _accept(guest, await _invite(person.session, team, "admin")) == "200"
    assert await _role(guest, team) == "admin"


async def test_an_invite_of_a_deleted_team_is_gone(person: Person, team: str, guest: Person):
    invite = await _invite(person.session, team)
    assert (await person.session.delete(f"/v1/teams/{team}")).status_code == 204
    assert await _accept(guest, invite) == "invite.not_found"


async def test_accepting_while_the_team_is_deleted_ends_one_way_or_the_other(
    person: Person, new_person: NewPerson
):
    guest = await new_person()
    for _ in range(12):
        team = await found_team(person)
        invite = await _invite(person.session, team)
        accepted, deleted = await asyncio.gather(
            _accept(guest, invite), person.session.delete(f"/v1/teams/{team}")
        )
        assert accepted in ("200", "invite.not_found")
        assert deleted.status_code == 204


async def test_a_token_is_shown_when_the_invite_is_made_and_never_again(person: Person, team: str):
    invite = await _invite(person.session, team)
    listed = await person.session.get(f"/v1/teams/{team}/invites")
    assert invite["token"] not in listed.text
    assert [each["id"] for each in listed.json()["data"]] == [invite["id"]]
