"""Reading the audit trail: filters and pagination."""

from datetime import timedelta
from typing import Any

import pytest

from stead.control.app import ControlPlane
from stead.control.http.principal import Pin
from stead.shared.clock import MovableClock
from tests import teams
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.people import Person


@pytest.fixture
async def team(person: Person) -> str:
    return await teams.found_team(person)


async def _events(client: Client, path: str, **query: str | int) -> list[dict[str, Any]]:
    response = await client.get(path, params=query)
    assert response.status_code == 200, response.text
    return list(response.json()["data"])


async def _rename(client: Client, team: str, *names: str) -> None:
    for name in names:
        assert (await client.patch(f"/v1/teams/{team}", json={"name": name})).status_code == 200


async def test_an_account_reads_its_own_actions_newest_first(
    person: Person, new_person: NewPerson, team: str
):
    other = await new_person()
    await teams.found_team(other)
    await _rename(person.session, team, "one")
    events = await _events(person.session, "/v1/account/audit")
    assert [(event["event"], event["team_id"]) for event in events] == [
        ("team_update", team),
        ("team_create", team),
    ]
    assert {event["actor_user_id"] for event in events} == {person.id}


async def test_a_team_reads_the_actions_of_all_its_members(person: Person, new_person: NewPerson, team: str):
    other = await new_person()
    await teams.add_member(person.session, team, other.id, "admin")
    await _rename(other.session, team, "two")
    await teams.found_team(other)
    events = await _events(person.session, f"/v1/teams/{team}/audit")
    assert [event["event"] for event in events] == ["team_update", "member_add", "team_create"]
    assert events[1]["meta"] == {"team_id": team, "client_id": other.id, "role": "admin"}


async def test_a_site_has_its_own_audit_trail(person: Person, plane: ControlPlane, team: str):
    async with plane.database.transaction() as tx:
        site, other = [await teams.insert_site(tx, team=team) for _ in range(2)]
        project = await teams.insert_project(tx, team=team)
    for each in (site, other):
        path = f"/v1/teams/{team}/projects/{project}/sites"
        assert (await person.session.post(path, json={"site_id": each})).status_code == 204
    [event] = await _events(person.session, f"/v1/sites/{site}/audit")
    assert (event["event"], event["site_id"], event["team_id"]) == ("team_project_assign_site", site, team)


async def test_the_audit_trail_can_be_filtered_by_event(person: Person, team: str):
    await _rename(person.session, team, "one", "two")
    path = f"/v1/teams/{team}/audit"
    assert [each["event"] for each in await _events(person.session, path, event="team_create")] == [
        "team_create"
    ]
    assert len(await _events(person.session, path, event="team_update")) == 2
    assert await _events(person.session, path, event="team_delete") == []


async def test_the_audit_trail_can_be_filtered_by_account_address_or_key(
    person: Person, new_person: NewPerson, team: str, anonymous: Client
):
    other = await new_person()
    await teams.add_member(person.session, team, other.id, "admin")
    await _rename(other.session, team, "by the other")
    minted = await person.session.post("/v1/api-keys", json={"scopes": ["teams:write"]})
    key = minted.json()["data"]
    await _rename(anonymous.as_(key["secret"]), team, "by the key")
    path = f"/v1/teams/{team}/audit"
    for actor in (other.id, other.account.email):
        [event] = await _events(person.session, path, actor=actor)
        assert event["actor_user_id"] == other.id
    [event] = await _events(person.session, path, actor=key["id"])
    assert (event["actor_kind"], event["actor_user_id"]) == ("api_key", person.id)
    assert len(await _events(person.session, path, actor=person.id)) == 3
    assert await _events(person.session, path, actor="somebody") == []


async def test_since_is_inclusive_and_until_exclusive(person: Person, team: str, clock: MovableClock):
    for _ in range(2):
        clock.move(timedelta(seconds=10))
        await _rename(person.session, team, "again")
    path = f"/v1/teams/{team}/audit"
    last, middle, first = await _events(person.session, path)

    async def between(**query: str) -> list[str]:
        return [event["id"] for event in await _events(person.session, path, **query)]

    assert await between(since=middle["created_at"]) == [last["id"], middle["id"]]
    assert await between(until=middle["created_at"]) == [first["id"]]
    assert await between(since=middle["created_at"], until=last["created_at"]) == [middle["id"]]
    assert await between(since=middle["created_at"], until=middle["created_at"]) == []
    refused = await person.session.get(path, params={"since": "yesterday"})
    assert code_of(refused) == "request.field_invalid"


@pytest.mark.parametrize("size", [1, 2, 3, 7, 8])
async def test_pagination_by_cursor_returns_every_entry_once(person: Person, team: str, size: int):
    await _rename(person.session, team, *"abcdef")
    for path in (f"/v1/teams/{team}/audit", "/v1/account/audit"):
        everything = [event["id"] for event in await _events(person.session, path)]
        assert len(everything) >= 7
        collected, query = [], {"limit": str(size)}
        while True:
            page = (await person.session.get(path, params=query)).json()
            collected += [event["id"] for event in page["data"]]
            if not page["pagination"]["has_more"]:
                break
            query["cursor"] = page["pagination"]["next_cursor"]
            await _rename(person.session, team, "during pagination")
        assert collected == everything


async def test_pagination_by_before_returns_every_entry_once(person: Person, team: str):
    await _rename(person.session, team, *"abcd")
    path = f"/v1/teams/{team}/audit"
    everything = [event["id"] for event in await _events(person.session, path)]
    collected: list[str] = []
    while page := await _events(
        person.session, path, limit=2, **({"before": collected[-1]} if collected else {})
    ):
        collected += [event["id"] for event in page]
    assert collected == everything


@pytest.mark.parametrize(
    "before", ["", "aud_1", "zzz", "evt_01k9zy3v7d00r3m8w5x2t6b4qa", "aud_01K9ZY3V7D00R3M8W5X2T6B4QA"]
)
async def test_before_is_the_id_of_an_entry(person: Person, team: str, before: str):
    answer = await person.session.get(f"/v1/teams/{team}/audit", params={"before": before})
    assert (answer.status_code, answer.json()["error"].get("param")) == (400, "before")


async def test_a_cursor_is_valid_only_with_its_own_filters(person: Person, team: str):
    await _rename(person.session, team, *"ab")
    path = f"/v1/teams/{team}/audit"
    page = (await person.session.get(path, params={"limit": 1, "event": "team_update"})).json()
    cursor = page["pagination"]["next_cursor"]
    assert code_of(await person.session.get(path, params={"cursor": cursor})) == "request.cursor_invalid"


async def test_a_pinned_key_reads_only_entries_of_its_pin(person: Person, plane: ControlPlane, team: str):
    elsewhere = await teams.found_team(person, "Elsewhere")
    async with plane.database.transaction() as tx:
        project = await teams.insert_project(tx, team=team)
        site = await teams.insert_site(tx, team=team)
    path = f"/v1/teams/{team}/projects/{project}/sites"
    assert (await person.session.post(path, json={"site_id": site})).status_code == 204
    pins = {Pin("team", team): 2, Pin("team", elsewhere): 1, Pin("site", site): 1, Pin("project", project): 1}
    for pin, count in pins.items():
        key = await person.key("audit:read", resource=pin)
        assert len(await _events(key, "/v1/account/audit")) == count, pin
    assert len(await _events(person.session, "/v1/account/audit")) == 3
