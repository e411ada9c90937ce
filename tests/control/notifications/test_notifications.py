"""Notifications: told to those whom it concerns, read once, narrowed by pin and mode."""

from typing import Any

import pytest

from stead.control.features import event_catalog
from stead.control.http.principal import Pin
from stead.control.outbox.event_types import CATEGORIES
from stead.shared.roles import Role
from tests import teams
from tests.client import Client, code_of
from tests.outbox import Outbox
from tests.people import EVERY_SCOPE, Person

DOMAIN = {"domain": "example.com"}
FAILED = {**DOMAIN, "reason": "It did not answer."}


async def _told(client: Client | Person, **query: Any) -> list[dict[str, Any]]:
    asked = client.session if isinstance(client, Person) else client
    listed = await asked.get("/v1/notifications", params=query)
    assert listed.status_code == 200, listed.text
    return list(listed.json()["data"])


async def _unread(client: Client) -> int:
    return int((await client.get("/v1/notifications/unread-count")).json()["data"]["unread"])


async def test_a_notification_says_what_happened(outbox: Outbox):
    person = await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
    await outbox.publish("deploy.failed", account_id=person.id, site_id=site, data=FAILED)
    await outbox.number_events()
    (told,) = await _told(person)
    assert told.pop("id").startswith("ntf_")
    assert told.pop("created_at")
    assert told.pop("payload").items() >= FAILED.items()
    assert told == {
        "type": "deploy.failed",
        "category": "deploy",
        "severity": "error",
        "site_id": site,
        "title": "A deployment failed",
        "body": "The deployment of example.com failed: It did not answer.",
        "read_at": None,
    }


async def test_only_what_is_worth_it_becomes_a_notification(outbox: Outbox):
    person = await outbox.person()
    await outbox.publish("job.succeeded", account_id=person.id, data={"type": "site.restart"})
    await outbox.publish("site.created", account_id=person.id, data={**DOMAIN, "profile": "static"})
    await outbox.publish("deploy.completed", account_id=person.id, data=DOMAIN)
    await outbox.number_events()
    assert [told["type"] for told in await _told(person)] == ["deploy.completed"]


TOLD = {
    "deploy.failed": {Role.OWNER, Role.ADMIN, Role.SITE_MANAGER, Role.OBSERVER},
    "team.member_removed": {Role.OWNER, Role.ADMIN},
}


@pytest.mark.parametrize("type_", TOLD)
async def test_the_members_of_a_team_are_told_by_their_roles(outbox: Outbox, type_: str):
    founder = await outbox.person()
    members = {role: await outbox.person() for role in Role}
    expired = await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        team = await teams.insert_team(tx, founder.id)
        for role, member in members.items():
            await teams.insert_member(tx, team, member.id, role)
        await teams.insert_member(tx, team, expired.id, Role.OWNER, expires_at=tx.now - teams.DAY)
    data = FAILED if type_ == "deploy.failed" else {"client_id": "client_x"}
    await outbox.publish(type_, team_id=team, data=data)
    await outbox.number_events()
    assert {role for role, member in members.items() if await _told(member)} == TOLD[type_]
    assert await _told(expired) == []


async def test_they_are_counted_and_read(outbox: Outbox):
    person, stranger = await outbox.person(), await outbox.person()
    await outbox.publish("deploy.completed", times=3, account_id=person.id, data=DOMAIN)
    await outbox.number_events()
    newest, _, oldest = await _told(person)
    assert await _unread(person.session) == 3

    async def mark(client: Client, **body: Any) -> Any:
        return (await client.post("/v1/notifications/read", json=body)).json()["data"]["updated"]

    assert await mark(stranger.session, ids=[newest["id"]]) == 0
    assert await mark(person.session, ids=[newest["id"], "ntf_nothing", newest["id"]]) == 1
    assert await mark(person.session, ids=[newest["id"]]) == 0
    assert await _unread(person.session) == 2
    assert [told["id"] for told in await _told(person, unread="false")] == [newest["id"]]
    assert oldest["id"] in {told["id"] for told in await _told(person, unread="true")}
    assert await mark(person.session, all=False) == 0
    assert await mark(person.session, all=True) == 2
    assert await _unread(person.session) == 0
    first = (await _told(person))[0]["read_at"]
    assert first is not None
    await mark(person.session, all=True)
    assert (await _told(person))[0]["read_at"] == first
    assert code_of(await person.session.post("/v1/notifications/read", json={})) == "request.field_invalid"


async def test_the_bell_rings_for_warnings_and_deployments(outbox: Outbox):
    person = await outbox.person()
    events = {
        "deploy.completed": DOMAIN,
        "deploy.failed": FAILED,
        "site.deleted": DOMAIN,
        "site.recovered": DOMAIN,
        "key.created": {"key_id": "key_x"},
    }
    for type_, data in events.items():
        await outbox.publish(type_, account_id=person.id, data=data)
    await outbox.number_events()
    rings = {told["type"] for told in await _told(person, bell="true")}
    assert rings == {"deploy.completed", "deploy.failed", "site.deleted"}
    assert {told["type"] for told in await _told(person, bell="false")} == events.keys() - rings
    assert {told["type"] for told in await _told(person, severity="warning")} == {"site.deleted"}
    assert {told["type"] for told in await _told(person, category="security")} == {"key.created"}
    assert code_of(await person.session.get("/v1/notifications?severity=loud")) == "request.field_invalid"


def test_the_bell_is_what_it_is_said_to_be():
    for event in event_catalog().values():
        assert event.bell == (event.severity != "info" or event.type.startswith("deploy."))


async def test_a_page_has_thirty_unless_said(outbox: Outbox):
    person = await outbox.person()
    await outbox.publish("deploy.completed", times=33, account_id=person.id, data=DOMAIN)
    await outbox.number_events()
    page = (await person.session.get("/v1/notifications")).json()
    assert (len(page["data"]), page["pagination"]["has_more"]) == (30, True)
    rest = await _told(person, cursor=page["pagination"]["next_cursor"])
    assert len(rest) == 3


async def test_a_key_is_told_within_its_pin_and_mode(outbox: Outbox):
    person = await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        live, other = [await teams.insert_site(tx, account=person.id) for _ in range(2)]
        test = await teams.insert_site(tx, account=person.id, mode="test")
        secrets = {
            name: (await teams.insert_key(tx, person.id, EVERY_SCOPE, **wanted))[1]  # type: ignore[arg-type]
            for name, wanted in {
                "pinned": {"pin": Pin("site", live)},
                "live": {},
                "test": {"mode": "test"},
            }.items()
        }
    for site in (live, other, test):
        await outbox.publish("deploy.completed", account_id=person.id, site_id=site, data=DOMAIN)
    await outbox.number_events()
    clients = {name: outbox.anonymous.as_(secret) for name, secret in secrets.items()}
    seen = {name: {told["site_id"] for told in await _told(client)} for name, client in clients.items()}
    assert seen == {"pinned": {live}, "live": {live, other}, "test": {test}}
    assert await _unread(clients["pinned"]) == 1
    marked = await clients["pinned"].post("/v1/notifications/read", json={"all": True})
    assert marked.json()["data"]["updated"] == 1
    assert await _unread(person.session) == 2


async def test_mail_is_on_for_every_category_until_it_is_switched_off(outbox: Outbox):
    person = await outbox.person()
    where = "/v1/notification-preferences"
    assert (await person.session.get(where)).json()["data"]["preferences"] == [
        {"category": category, "email": True} for category in CATEGORIES
    ]
    wish = [{"category": "deploy", "email": False}, {"category": "site", "email": True}]
    for _ in range(2):
        chosen = (await person.session.put(where, json={"preferences": wish})).json()["data"]["preferences"]
        assert [each for each in chosen if not each["email"]] == wish[:1]
        assert (await person.session.get(where)).json()["data"]["preferences"] == chosen
    await person.session.put(where, json={"preferences": []})
    assert all(each["email"] for each in (await person.session.get(where)).json()["data"]["preferences"])
    for bad in ([wish[0], wish[0]], [{"category": "weather", "email": True}], [{"category": "deploy"}]):
        refused = await person.session.put(where, json={"preferences": bad})
        assert code_of(refused) == "request.field_invalid"
