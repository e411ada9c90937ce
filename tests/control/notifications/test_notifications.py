"""Notifications: who receives them, reading and marking them, restricted by pin and mode."""

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


async def _notifications(client: Client | Person, **query: Any) -> list[dict[str, Any]]:
    reader = client.session if isinstance(client, Person) else client
    listed = await reader.get("/v1/notifications", params=query)
    assert listed.status_code == 200, listed.text
    return list(listed.json()["data"])


async def _unread(client: Client) -> int:
    return int((await client.get("/v1/notifications/unread-count")).json()["data"]["unread"])


async def test_a_notification_describes_the_event(outbox: Outbox):
    person = await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
    await outbox.publish("deploy.failed", account_id=person.id, site_id=site, data=FAILED)
    await outbox.number_events()
    (notification,) = await _notifications(person)
    assert notification.pop("id").startswith("ntf_")
    assert notification.pop("created_at")
    assert notification.pop("payload").items() >= FAILED.items()
    assert notification == {
        "type": "deploy.failed",
        "category": "deploy",
        "severity": "error",
        "site_id": site,
        "title": "A deployment failed",
        "body": "The deployment of example.com failed: It did not answer.",
        "read_at": None,
    }


async def test_only_types_marked_in_app_become_notifications(outbox: Outbox):
    person = await outbox.person()
    await outbox.publish("job.succeeded", account_id=person.id, data={"type": "site.restart"})
    await outbox.publish("site.created", account_id=person.id, data={**DOMAIN, "profile": "static"})
    await outbox.publish("deploy.completed", account_id=person.id, data=DOMAIN)
    await outbox.number_events()
    assert [notification["type"] for notification in await _notifications(person)] == ["deploy.completed"]


NOTIFIED_ROLES = {
    "deploy.failed": {Role.OWNER, Role.ADMIN, Role.SITE_MANAGER, Role.OBSERVER},
    "team.member_removed": {Role.OWNER, Role.ADMIN},
}


@pytest.mark.parametrize("type_", NOTIFIED_ROLES)
async def test_members_of_a_team_are_notified_by_role(outbox: Outbox, type_: str):
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
    assert {role for role, member in members.items() if await _notifications(member)} == NOTIFIED_ROLES[type_]
    assert await _notifications(expired) == []


async def test_notifications_are_counted_and_marked_as_read(outbox: Outbox):
    person, stranger = await outbox.person(), await outbox.person()
    await outbox.publish("deploy.completed", times=3, account_id=person.id, data=DOMAIN)
    await outbox.number_events()
    newest, _, oldest = await _notifications(person)
    assert await _unread(person.session) == 3

    async def mark(client: Client, **body: Any) -> Any:
        return (await client.post("/v1/notifications/read", json=body)).json()["data"]["updated"]

    assert await mark(stranger.session, ids=[newest["id"]]) == 0
    assert await mark(person.session, ids=[newest["id"], "ntf_nothing", newest["id"]]) == 1
    assert await mark(person.session, ids=[newest["id"]]) == 0
    assert await _unread(person.session) == 2
    assert [notification["id"] for notification in await _notifications(person, unread="false")] == [
        newest["id"]
    ]
    assert oldest["id"] in {
        notification["id"] for notification in await _notifications(person, unread="true")
    }
    assert await mark(person.session, all=False) == 0
    assert await mark(person.session, all=True) == 2
    assert await _unread(person.session) == 0
    first = (await _notifications(person))[0]["read_at"]
    assert first is not None
    await mark(person.session, all=True)
    assert (await _notifications(person))[0]["read_at"] == first
    assert code_of(await person.session.post("/v1/notifications/read", json={})) == "request.field_invalid"


async def test_bell_selects_warnings_and_deployments(outbox: Outbox):
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
    selected = {notification["type"] for notification in await _notifications(person, bell="true")}
    assert selected == {"deploy.completed", "deploy.failed", "site.deleted"}
    assert {
        notification["type"] for notification in await _notifications(person, bell="false")
    } == events.keys() - selected
    assert {notification["type"] for notification in await _notifications(person, severity="warning")} == {
        "site.deleted"
    }
    assert {notification["type"] for notification in await _notifications(person, category="security")} == {
        "key.created"
    }
    assert code_of(await person.session.get("/v1/notifications?severity=loud")) == "request.field_invalid"


def test_bell_matches_its_description_for_every_type():
    for event in event_catalog().values():
        assert event.bell == (event.severity != "info" or event.type.startswith("deploy."))


async def test_a_page_has_thirty_notifications_by_default(outbox: Outbox):
    person = await outbox.person()
    await outbox.publish("deploy.completed", times=33, account_id=person.id, data=DOMAIN)
    await outbox.number_events()
    page = (await person.session.get("/v1/notifications")).json()
    assert (len(page["data"]), page["pagination"]["has_more"]) == (30, True)
    rest = await _notifications(person, cursor=page["pagination"]["next_cursor"])
    assert len(rest) == 3


async def test_a_key_reads_notifications_of_its_pin_and_mode(outbox: Outbox):
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
    seen = {
        name: {notification["site_id"] for notification in await _notifications(client)}
        for name, client in clients.items()
    }
    assert seen == {"pinned": {live}, "live": {live, other}, "test": {test}}
    assert await _unread(clients["pinned"]) == 1
    marked = await clients["pinned"].post("/v1/notifications/read", json={"all": True})
    assert marked.json()["data"]["updated"] == 1
    assert await _unread(person.session) == 2


async def test_email_is_on_for_every_category_until_it_is_switched_off(outbox: Outbox):
    person = await outbox.person()
    path = "/v1/notification-preferences"
    assert (await person.session.get(path)).json()["data"]["preferences"] == [
        {"category": category, "email": True} for category in CATEGORIES
    ]
    wanted = [{"category": "deploy", "email": False}, {"category": "site", "email": True}]
    for _ in range(2):
        chosen = (await person.session.put(path, json={"preferences": wanted})).json()["data"]["preferences"]
        assert [each for each in chosen if not each["email"]] == wanted[:1]
        assert (await person.session.get(path)).json()["data"]["preferences"] == chosen
    await person.session.put(path, json={"preferences": []})
    assert all(each["email"] for each in (await person.session.get(path)).json()["data"]["preferences"])
    for bad in ([wanted[0], wanted[0]], [{"category": "weather", "email": True}], [{"category": "deploy"}]):
        refused = await person.session.put(path, json={"preferences": bad})
        assert code_of(refused) == "request.field_invalid"
