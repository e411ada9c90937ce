"""The delivery worker: concurrency, crashes and reused connections."""

import asyncio
from typing import Any

from stead.control.webhooks.delivery_worker import MAX_PER_ENDPOINT
from stead.control.webhooks.queue import LEASE
from stead.shared.clock import MovableClock
from tests.control.webhooks.deliveries import DOMAIN, publish_event
from tests.outbox import Outbox
from tests.patience import time_limit
from tests.people import Person
from tests.receiver import Receiver, http_response, never_respond, respond_with


async def test_deliveries_in_flight_to_one_endpoint_are_limited(
    outbox: Outbox, person: Person, receiver: Receiver
):
    async def slowly(_: Any) -> bytes:
        await asyncio.sleep(0.02)
        return http_response()

    receiver.respond = slowly
    await outbox.endpoint(person, receiver.url, "site.restarted")
    await outbox.publish("site.restarted", times=MAX_PER_ENDPOINT * 3, account_id=person.id, data=DOMAIN)
    await outbox.deliver()
    delivered = {request.delivery_id for request in receiver.requests}
    assert len(delivered) == len(receiver.requests) == MAX_PER_ENDPOINT * 3
    assert receiver.max_in_flight == MAX_PER_ENDPOINT
    assert receiver.connections <= MAX_PER_ENDPOINT * 2


async def test_deliveries_of_a_dead_worker_are_sent_by_another(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    receiver.respond = never_respond
    await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.number_events()
    dead = outbox.delivery_worker()
    assert await dead.send_due() == 1
    async with time_limit(10):
        while not receiver.requests:  # noqa: ASYNC110 - the receiver has no event to wait for
            await asyncio.sleep(0.01)
    for task in list(dead._tasks):
        task.cancel()
    receiver.respond = respond_with(http_response())
    await outbox.deliver()
    assert len(receiver.requests) == 1
    clock.move(LEASE)
    await outbox.deliver()
    first, second = receiver.requests
    assert first.delivery_id == second.delivery_id


async def test_a_closed_idle_connection_costs_no_attempt(outbox: Outbox, person: Person, receiver: Receiver):
    """The server closes every connection after one response, without announcing it."""
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    worker = outbox.delivery_worker()
    for _ in range(3):
        await publish_event(outbox, person)
        await outbox.deliver(worker)
        receiver.drop_connections()
        await asyncio.sleep(0.05)
    assert {each["attempts"] for each in await outbox.deliveries(person, endpoint["id"])} == {1}
    assert len(receiver.requests) == 3


async def test_the_delivery_worker_sends_published_events(outbox: Outbox, person: Person, receiver: Receiver):
    worker = outbox.delivery_worker()
    running = asyncio.create_task(worker.run())
    try:
        endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
        await outbox.publish("site.restarted", times=20, account_id=person.id, data=DOMAIN)
        await outbox.number_events()
        async with time_limit(20):
            pending = "select count(*) from webhook_deliveries where endpoint_id = $1 and status = 'pending'"
            while await outbox.value(pending, endpoint["id"]):  # noqa: ASYNC110 - polls the database
                await asyncio.sleep(0.05)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert len(receiver.requests) == 20
