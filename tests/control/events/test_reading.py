"""Which events a caller can read: those of the account and its teams, within pin and mode, for 30 days."""

from datetime import timedelta
from typing import Any

import pytest

from stead.control.events import service
from stead.control.http.principal import Pin
from stead.shared.clock import MovableClock
from stead.shared.roles import Role
from tests import teams
from tests.client import Client, code_of
from tests.control.events.test_order import read_all
from tests.outbox import Outbox
from tests.people import EVERY_SCOPE, Person

DOMAIN = {"domain": "example.com"}


async def _key(outbox: Outbox, person: Person, *, pin: Pin | None = None, mode: str = "live") -> Client:
    async with outbox.plane.database.transaction() as tx:
        _, secret = await teams.insert_key(tx, person.id, EVERY_SCOPE, mode=mode, pin=pin)  # type: ignore[arg-type]
    return outbox.anonymous.as_(secret)


async def _site(outbox: Outbox, **owner: str) -> str:
    async with outbox.plane.database.transaction() as tx:
        return await teams.insert_site(tx, **owner)  # type: ignore[arg-type]


async def test_an_event_names_its_resources_and_data(outbox: Outbox):
    person = await outbox.person()
    site = await _site(outbox, account=person.id)
    await outbox.publish("site.restarted", account_id=person.id, site_id=site, job_id="job_x", data=DOMAIN)
    await outbox.number_events()
    (event,) = (await person.session.get("/v1/events")).json()["data"]
    assert event["id"].startswith("evt_")
    assert {name: event[name] for name in ("type", "site_id", "env_id", "job_id", "data")} == {
        "type": "site.restarted",
        "site_id": site,
        "env_id": None,
        "job_id": "job_x",
        "data": DOMAIN,
    }


@pytest.mark.parametrize("role", Role)
async def test_a_member_reads_team_events_if_the_role_permits(outbox: Outbox, role: Role):
    founder, member = await outbox.person(), await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        team = await teams.insert_team(tx, founder.id)
        await teams.insert_member(tx, team, member.id, role)
    await outbox.publish("site.restarted", team_id=team, data=DOMAIN)
    await outbox.number_events()
    assert len(await read_all(founder.session)) == 1
    assert len(await read_all(member.session)) == (0 if role is Role.BILLING else 1)


async def test_an_expired_member_reads_no_team_events(outbox: Outbox):
    founder, former = await outbox.person(), await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        team = await teams.insert_team(tx, founder.id)
        await teams.insert_member(tx, team, former.id, Role.ADMIN, expires_at=tx.now - teams.DAY)
    await outbox.publish("site.restarted", team_id=team, data=DOMAIN)
    await outbox.number_events()
    assert await read_all(former.session) == []


async def test_events_of_other_accounts_are_not_visible(outbox: Outbox):
    person, stranger = await outbox.person(), await outbox.person()
    await outbox.publish("site.restarted", account_id=person.id, data=DOMAIN)
    await outbox.number_events()
    assert await read_all(stranger.session) == []
    (event,) = await read_all(person.session)
    page = (await person.session.get("/v1/events?limit=1")).json()
    assert page["pagination"]["next_cursor"] is None
    assert event == page["data"][0]["id"]


async def test_a_pinned_key_reads_only_events_of_its_pin(outbox: Outbox):
    person = await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        team = await teams.insert_team(tx, person.id)
        project = await teams.insert_project(tx, team=team)
        inside = await teams.insert_site(tx, team=team, project=project)
        beside = await teams.insert_site(tx, team=team)
        own = await teams.insert_site(tx, account=person.id)
    for site in (inside, beside, own):
        owner: dict[str, Any] = {"account_id": person.id} if site == own else {"team_id": team}
        await outbox.publish("site.restarted", **owner, site_id=site, env_id=f"env_{site}", data=DOMAIN)
    await outbox.publish("team.renamed", team_id=team, data={"name": "Another"})
    await outbox.publish("key.revoked", account_id=person.id, data={"key_id": "key_x"})
    await outbox.number_events()
    sites = {
        Pin("site", inside): [inside],
        Pin("project", project): [inside],
        Pin("team", team): [None, beside, inside],
        Pin("environment", f"env_{own}"): [own],
    }
    for pin, expected in sites.items():
        key = await _key(outbox, person, pin=pin)
        found = (await key.get("/v1/events")).json()["data"]
        assert [event["site_id"] for event in found] == expected, pin
    assert len(await read_all(person.session)) == 5


async def test_test_keys_and_live_keys_read_only_events_of_their_mode(outbox: Outbox):
    person = await outbox.person()
    for mode in ("live", "test"):
        site = await _site(outbox, account=person.id, mode=mode)
        await outbox.publish("site.restarted", account_id=person.id, site_id=site, data={"domain": mode})
    await outbox.number_events()
    for mode in ("live", "test"):
        key = await _key(outbox, person, mode=mode)
        found = (await key.get("/v1/events")).json()["data"]
        assert [event["data"]["domain"] for event in found] == [mode]
    assert len(await read_all(person.session)) == 2


async def test_the_feed_can_be_filtered_by_type(outbox: Outbox):
    person = await outbox.person()
    await outbox.publish("site.restarted", times=3, account_id=person.id, data=DOMAIN)
    await outbox.publish("deploy.completed", times=2, account_id=person.id, data=DOMAIN)
    await outbox.number_events()
    assert len(await read_all(person.session, type="deploy.completed")) == 2
    assert await read_all(person.session, type="no.such") == []
    cursor = (await person.session.get("/v1/events?limit=1")).json()["pagination"]["next_cursor"]
    other = await person.session.get("/v1/events", params={"cursor": cursor, "type": "site.restarted"})
    assert code_of(other) == "request.cursor_invalid"


async def test_events_are_kept_for_thirty_days(outbox: Outbox, clock: MovableClock):
    person = await outbox.person()
    await outbox.publish("site.restarted", times=3, account_id=person.id, data=DOMAIN)
    await outbox.number_events()
    cursor = (await person.session.get("/v1/events?limit=1")).json()["pagination"]["next_cursor"]
    clock.move(timedelta(days=29))
    async with outbox.plane.database.transaction() as tx:
        await service.delete_expired(tx)
        kept = await tx.value("select count(*) from events where account_id = $1", person.id)
        clock.move(timedelta(days=1, seconds=1))
    async with outbox.plane.database.transaction() as tx:
        await service.delete_expired(tx)
        left = await tx.value("select count(*) from events where account_id = $1", person.id)
    clock.move(-timedelta(days=30, seconds=1))
    assert (kept, left) == (3, 0)
    page = await person.session.get("/v1/events", params={"limit": 1, "cursor": cursor})
    assert page.json()["data"] == []
