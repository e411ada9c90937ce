"""Signed deliveries, as customers verify them."""

import time
from datetime import timedelta

import msgspec
import pytest

from stead.shared.clock import MovableClock
from tests import teams
from tests.control.webhooks.deliveries import publish_event
from tests.control.webhooks.documented_verifiers import documented_verifier
from tests.outbox import Outbox
from tests.people import Person
from tests.receiver import Receiver


async def test_a_delivery_contains_the_event_and_a_valid_signature(
    outbox: Outbox, person: Person, receiver: Receiver
):
    async with outbox.plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
    endpoint = await outbox.endpoint(person, receiver.url + "?x=1", "deploy.completed")
    await publish_event(outbox, person, "deploy.completed", account_id=person.id, site_id=site)
    await outbox.deliver()
    (request,) = receiver.requests
    (event,) = (await person.session.get("/v1/events?type=deploy.completed")).json()["data"]
    assert request.path == "/hook?x=1"
    assert msgspec.json.decode(request.body) == {
        name: event[name] for name in ("id", "type", "site_id", "env_id", "created_at", "data")
    }
    assert request.headers["host"] == f"{receiver.host}:8443"
    assert request.headers["content-type"] == "application/json"
    assert documented_verifier()(endpoint["secret"], request.headers, request.body)
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert delivery["id"] == request.delivery_id == request.headers["webhook-id"]
    assert (delivery["status"], delivery["attempts"], delivery["response_status"]) == ("delivered", 1, 204)
    assert (delivery["next_attempt_at"], delivery["last_error"]) == (None, None)
    assert delivery["event_id"] == event["id"]


@pytest.mark.parametrize("changed", ["body", "api-delivery-id", "api-signature", "secret", "time"])
async def test_a_tampered_delivery_does_not_verify(
    outbox: Outbox, person: Person, receiver: Receiver, changed: str
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    (request,) = receiver.requests
    secret, headers, body, now = endpoint["secret"], dict(request.headers), request.body, time.time()
    verify = documented_verifier()
    assert verify(secret, headers, body, now=now)
    if changed == "body":
        body = body.replace(b"example.com", b"example.org")
    elif changed == "secret":
        secret = (await outbox.endpoint(person, receiver.url))["secret"]
    elif changed == "time":
        now += 3600
    else:
        headers[changed] = headers[changed][:-1] + ("0" if headers[changed][-1] != "0" else "1")
    assert not verify(secret, headers, body, now=now)


async def test_after_a_roll_both_secrets_sign_for_a_day(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    rolled = (await person.session.post(f"/v1/webhook-endpoints/{endpoint['id']}/roll")).json()["data"]
    verify = documented_verifier()
    await publish_event(outbox, person)
    await outbox.deliver()
    (during,) = receiver.requests
    for secret in (endpoint["secret"], rolled["secret"]):
        assert verify(secret, during.headers, during.body)
    assert (
        during.headers["api-signature"].count("v1=") == during.headers["webhook-signature"].count("v1,") == 2
    )
    clock.move(timedelta(hours=24, seconds=1))
    await publish_event(outbox, person)
    await outbox.deliver()
    _, after = receiver.requests
    now = clock().timestamp()
    assert verify(rolled["secret"], after.headers, after.body, now=now)
    assert not verify(endpoint["secret"], after.headers, after.body, now=now)


async def test_a_second_roll_invalidates_the_oldest_secret_immediately(
    outbox: Outbox, person: Person, receiver: Receiver
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    path = f"/v1/webhook-endpoints/{endpoint['id']}/roll"
    second, third = [(await person.session.post(path)).json()["data"]["secret"] for _ in range(2)]
    await publish_event(outbox, person)
    await outbox.deliver()
    (request,) = receiver.requests
    verdicts = [
        documented_verifier()(each, request.headers, request.body)
        for each in (endpoint["secret"], second, third)
    ]
    assert verdicts == [False, True, True]
