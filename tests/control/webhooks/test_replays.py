"""Replaying deliveries."""

import asyncio
from datetime import timedelta
from typing import Any

from stead.control.webhooks.queue import LOG_LENGTH
from stead.shared.clock import MovableClock
from tests.client import code_of
from tests.control.webhooks.deliveries import publish_event, replay
from tests.control.webhooks.documented_verifiers import documented_verifier
from tests.outbox import Outbox
from tests.people import Person
from tests.receiver import Receiver, http_response


async def test_a_replay_sends_the_same_delivery_with_a_new_signature(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    clock.move(timedelta(hours=1))
    replayed = await replay(person, endpoint["id"], delivery["id"])
    assert replayed.status_code == 202
    data = replayed.json()["data"]
    assert (data["status"], data["attempts"], data["delivered_at"]) == ("pending", 0, None)
    await outbox.deliver()
    first, again = receiver.requests
    assert (first.delivery_id, first.body) == (again.delivery_id, again.body)
    assert first.headers["api-signature"] != again.headers["api-signature"]
    assert documented_verifier()(endpoint["secret"], again.headers, again.body, now=clock().timestamp())


async def test_the_attempt_log_has_a_maximum_length(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    for _ in range(LOG_LENGTH + 2):
        await replay(person, endpoint["id"], delivery["id"])
        await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (len(delivery["log"]), delivery["attempts"]) == (LOG_LENGTH, 1)


async def test_a_delivery_to_a_disabled_endpoint_cannot_be_replayed(
    outbox: Outbox, person: Person, receiver: Receiver
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    path = f"/v1/webhook-endpoints/{endpoint['id']}"
    await person.session.patch(path, json={"enabled": False})
    assert code_of(await replay(person, endpoint["id"], delivery["id"])) == "webhook_endpoint.disabled"
    await publish_event(outbox, person)
    await outbox.deliver()
    assert len(receiver.requests) == 1
    await person.session.patch(path, json={"enabled": True})
    assert (await replay(person, endpoint["id"], delivery["id"])).status_code == 202


async def test_a_late_result_does_not_undo_a_replay(outbox: Outbox, person: Person, receiver: Receiver):
    released = asyncio.Event()

    async def wait(_: Any) -> bytes:
        await released.wait()
        return http_response()

    receiver.respond = wait
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.number_events()
    worker = outbox.delivery_worker()
    assert await worker.send_due() == 1
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (await replay(person, endpoint["id"], delivery["id"])).status_code == 202
    released.set()
    await worker.wait_until_idle()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["status"], delivery["attempts"]) == ("pending", 0)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["status"], delivery["attempts"]) == ("delivered", 1)
