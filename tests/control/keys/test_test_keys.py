"""A test key changes nothing outside test mode, whatever its scopes."""

import pytest

from tests import teams
from tests.client import Client, code_of
from tests.people import EVERY_SCOPE, Person


@pytest.fixture
async def tester(person: Person) -> Client:
    return await person.key(*EVERY_SCOPE, mode="test")


async def test_a_test_key_cannot_invite_an_owner_into_a_team(person: Person, tester: Client):
    team = await teams.found_team(person)
    invited = await tester.post(f"/v1/teams/{team}/invites", json={"role": "owner"})
    assert (invited.status_code, code_of(invited)) == (403, "mode.test")
    assert (await person.session.get(f"/v1/teams/{team}/invites")).json()["data"] == []
    audit = (await person.session.get(f"/v1/teams/{team}/audit")).json()["data"]
    assert (audit[0]["event"], audit[0]["outcome"]) == ("invite_create", "denied")


async def test_a_test_key_cannot_change_the_account_or_its_teams(person: Person, tester: Client):
    team = await teams.found_team(person)
    attempts = [
        await tester.patch("/v1/account", json={"name": "Somebody Else"}),
        await tester.post("/v1/teams", json={"name": "Another Team"}),
        await tester.delete(f"/v1/teams/{team}"),
        await tester.post(f"/v1/teams/{team}/members", json={"client_id": person.id, "role": "owner"}),
        await tester.post("/v1/projects", json={"name": "A Project"}),
        await tester.put("/v1/notification-preferences", json={"preferences": []}),
        await tester.post("/v1/invites/accept", json={"token": "none"}),
    ]
    assert {code_of(attempt) for attempt in attempts} == {"mode.test"}
    assert (await person.session.get("/v1/account")).json()["data"]["name"] == person.account.name


async def test_a_test_key_does_not_read_the_live_audit_trail(person: Person, tester: Client):
    team = await teams.found_team(person)
    for path in ("/v1/account/audit", f"/v1/teams/{team}/audit"):
        assert code_of(await tester.get(path)) == "mode.test"


async def test_a_test_key_reads_its_account_and_the_plan(person: Person, tester: Client):
    team = await teams.found_team(person)
    for path in ("/v1/account", "/v1/teams", f"/v1/teams/{team}/plan", "/v1/rate-limits"):
        assert code_of(await tester.get(path)) == "200"


async def test_a_test_key_marks_only_notifications_of_test_mode_as_read(person: Person, tester: Client):
    async with person.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id, mode="test")
        for number, about in enumerate([(None, None), (site, "test")]):
            await tx.run(
                "insert into notifications (id, account_id, event_id, site_id, mode, type, category,"
                " severity, bell, title, body, payload, in_app, created_at)"
                " values ($1, $2, $1, $3, $4, 'site.restarted', 'site', 'info', false, 'T', 'B', '{}', true,"
                " $5)",
                *(f"ntf_{number}_{person.id}", person.id, *about, tx.now),
            )
    marked = await tester.post("/v1/notifications/read", json={"all": True})
    assert marked.status_code == 200, marked.text
    unread = (await person.session.get("/v1/notifications", params={"unread": "true"})).json()["data"]
    assert [each["site_id"] for each in unread] == [None]
