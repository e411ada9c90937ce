"""Test events: delivered to one endpoint, on request, and not often."""

import time

from stead.control.webhooks.service import PINGS_PER_MINUTE_AND_ACCOUNT, PINGS_PER_MINUTE_AND_ENDPOINT
from stead.shared.clock import MovableClock
from tests.client import code_of
from tests.control.webhooks.documented_verifiers import documented_verifier
from tests.outbox import Outbox
from tests.people import Person
from tests.receiver import Receiver


def _path(endpoint: dict[str, str]) -> str:
    return f"/v1/webhook-endpoints/{endpoint['id']}/ping"


async def test_a_ping_is_signed_and_delivered_to_its_endpoint_alone(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    pinged = await outbox.endpoint(person, receiver.url, "site.restarted")
    others = [await outbox.endpoint(person, receiver.url, each) for each in ("*", "webhook.ping")]
    await outbox.deliver()
    before = len(receiver.requests)
    sent = await person.session.post(_path(pinged))
    assert sent.status_code == 202, sent.text
    assert (sent.json()["data"]["status"], sent.json()["data"]["attempts"]) == ("pending", 0)
    await outbox.deliver()
    (request,) = receiver.requests[before:]
    assert b'"webhook.ping"' in request.body
    assert pinged["id"].encode() in request.body
    assert documented_verifier()(pinged["secret"], request.headers, request.body, now=clock().timestamp())
    (delivery,) = await outbox.deliveries(person, pinged["id"])
    assert (delivery["id"], delivery["status"]) == (sent.json()["data"]["id"], "delivered")
    for other in others:
        events = [each["event_id"] for each in await outbox.deliveries(person, other["id"])]
        assert delivery["event_id"] not in events


async def test_an_endpoint_of_somebody_else_is_not_pinged(outbox: Outbox, person: Person, receiver: Receiver):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    stranger = await outbox.person()
    refused = await stranger.session.post(_path(endpoint))
    assert (refused.status_code, code_of(refused)) == (404, "webhook_endpoint.not_found")
    await outbox.deliver()
    assert receiver.requests == []


async def test_a_disabled_endpoint_is_not_pinged(outbox: Outbox, person: Person, receiver: Receiver):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    path = f"/v1/webhook-endpoints/{endpoint['id']}"
    assert (await person.session.patch(path, json={"enabled": False})).is_success
    assert code_of(await person.session.post(_path(endpoint))) == "webhook_endpoint.disabled"
    await outbox.deliver()
    assert receiver.requests == []


async def test_pings_cannot_flood_a_receiver(outbox: Outbox, person: Person, receiver: Receiver):
    """Neither through one endpoint, nor through many, nor with another key of the account."""
    endpoints = [
        await outbox.endpoint(person, receiver.url, "site.restarted")
        for _ in range(PINGS_PER_MINUTE_AND_ACCOUNT // PINGS_PER_MINUTE_AND_ENDPOINT + 1)
    ]
    another = await person.key(expires_in_days=365)
    clients = (person.session, another) * PINGS_PER_MINUTE_AND_ENDPOINT
    started = time.monotonic()
    codes = [code_of(await client.post(_path(endpoint))) for endpoint in endpoints for client in clients]
    # What refills while the test runs is allowed again.
    minutes = (time.monotonic() - started) / 60
    assert set(codes) == {"202", "rate_limit.exceeded"}
    assert codes.count("202") <= PINGS_PER_MINUTE_AND_ACCOUNT * (1 + minutes) + 1
    of_first = codes[: len(clients)].count("202")
    assert PINGS_PER_MINUTE_AND_ENDPOINT <= of_first <= PINGS_PER_MINUTE_AND_ENDPOINT * (1 + minutes) + 1
    await outbox.deliver()
    assert len(receiver.requests) == codes.count("202")
