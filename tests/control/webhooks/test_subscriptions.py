"""Which endpoints receive which events."""

import asyncio
from datetime import timedelta

import msgspec

from stead.control.http.principal import Pin
from stead.shared.clock import MovableClock
from stead.shared.roles import Role
from tests import teams
from tests.client import code_of
from tests.control.webhooks.deliveries import DOMAIN, clean_up, open_receivers, publish_event, replay
from tests.outbox import Outbox
from tests.people import EVERY_SCOPE, Person
from tests.receiver import Receiver, http_response, respond_with

SUBSCRIPTIONS = {
    "*": {"site.restarted", "deploy.completed", "deploy.failed"},
    "deploy.failed": {"deploy.failed"},
    "category:deploy": {"deploy.completed", "deploy.failed"},
    "category:job": set(),
}


async def test_an_endpoint_receives_the_event_types_it_subscribes_to(outbox: Outbox, person: Person):
    receivers = {selector: Receiver() for selector in SUBSCRIPTIONS}
    for selector, each in receivers.items():
        await outbox.endpoint(person, each.url, selector)
    await outbox.number_events()
    await outbox.run(
        "update webhook_deliveries set status = 'failed', next_attempt_at = null where status = 'pending'"
    )
    for type_ in sorted(SUBSCRIPTIONS["*"]):
        await publish_event(outbox, person, type_)
    async with open_receivers(outbox, receivers.values()):
        await outbox.deliver()
    received = {selector: {request.type for request in each.requests} for selector, each in receivers.items()}
    assert received == SUBSCRIPTIONS


async def test_an_endpoint_receives_only_events_that_its_creator_can_read(outbox: Outbox, person: Person):
    stranger, member, billing = [await outbox.person() for _ in range(3)]
    async with outbox.plane.database.transaction() as tx:
        team = await teams.insert_team(tx, person.id)
        await teams.insert_member(tx, team, member.id, Role.OBSERVER)
        await teams.insert_member(tx, team, billing.id, Role.BILLING)
        site = await teams.insert_site(tx, team=team)
        other = await teams.insert_site(tx, team=team)
        test_site = await teams.insert_site(tx, team=team, mode="test")
        _, pinned = await teams.insert_key(tx, person.id, EVERY_SCOPE, pin=Pin("site", site))
        _, test = await teams.insert_key(tx, person.id, EVERY_SCOPE, mode="test")
    clients = {
        "owner": person.session,
        "observer": member.session,
        "billing": billing.session,
        "stranger": stranger.session,
        "pinned": outbox.anonymous.as_(pinned),
        "test": outbox.anonymous.as_(test),
    }
    receivers = {name: Receiver() for name in clients}
    for name, client in clients.items():
        await outbox.endpoint(client, receivers[name].url, "site.restarted")
    for each in (site, other, test_site):
        await outbox.publish("site.restarted", team_id=team, site_id=each, data={"domain": each})
    async with open_receivers(outbox, receivers.values()):
        await outbox.deliver()
    received = {
        name: [msgspec.json.decode(each.body)["site_id"] for each in receiver.requests]
        for name, receiver in receivers.items()
    }
    assert {name: sorted(sites) for name, sites in received.items()} == {
        "owner": [site, other],
        "observer": [site, other],
        "billing": [],
        "stranger": [],
        "pinned": [site],
        "test": [test_site],
    }


async def test_a_former_team_member_does_not_receive_pending_deliveries(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    member = await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        team = await teams.insert_team(tx, person.id)
        await teams.insert_member(tx, team, member.id, Role.ADMIN)
    endpoint = await outbox.endpoint(member, receiver.url, "site.restarted")
    receiver.respond = respond_with(http_response(500))
    await outbox.publish("site.restarted", times=2, team_id=team, data=DOMAIN)
    await outbox.deliver()
    assert len(receiver.requests) == 2
    assert (await person.session.delete(f"/v1/teams/{team}/members/{member.id}")).status_code == 204
    clock.move(timedelta(hours=1))
    await outbox.deliver()
    assert len(receiver.requests) == 2
    first, second = await outbox.deliveries(member, endpoint["id"])
    assert (first["status"], second["status"]) == ("failed", "failed")
    assert code_of(await replay(member, endpoint["id"], first["id"])) == "webhook_delivery.not_found"


async def test_an_endpoint_does_not_receive_events_from_before_its_creation(
    outbox: Outbox, person: Person, receiver: Receiver
):
    await publish_event(outbox, person)
    await asyncio.sleep(0.005)
    await outbox.endpoint(person, receiver.url, "site.restarted")
    await outbox.deliver()
    assert receiver.requests == []


async def test_a_new_endpoint_for_all_events_first_receives_its_own_creation(
    outbox: Outbox, person: Person, receiver: Receiver
):
    endpoint = await outbox.endpoint(person, receiver.url)
    await outbox.deliver()
    (request,) = receiver.requests
    assert request.type == "webhook.endpoint_created"
    assert msgspec.json.decode(request.body)["data"] == {"endpoint_id": endpoint["id"]}


async def test_a_deleted_endpoint_and_its_deliveries_are_removed(
    outbox: Outbox, person: Person, receiver: Receiver
):
    receiver.respond = respond_with(http_response(500))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    await person.session.delete(f"/v1/webhook-endpoints/{endpoint['id']}")
    await clean_up(outbox)
    for table, column in (("webhook_endpoints", "id"), ("webhook_deliveries", "endpoint_id")):
        count = f"select count(*) from {table} where {column} = $1"
        assert await outbox.value(count, endpoint["id"]) == 0
