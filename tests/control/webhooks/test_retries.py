"""Failed deliveries are retried; endpoints that only fail are disabled."""

from datetime import datetime, timedelta

import pytest

from stead.control.webhooks.rules import DISABLE_AFTER, JITTER, MAX_ATTEMPTS, RETRY_DELAYS
from stead.shared.clock import MovableClock
from tests.control.webhooks.deliveries import clean_up, publish_event
from tests.outbox import Outbox
from tests.people import Person
from tests.receiver import Receiver, http_response, respond_with


async def test_a_failed_delivery_is_retried_on_schedule_until_the_last_attempt(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    receiver.respond = respond_with(http_response(503, b"not now"))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    for attempt, delay in enumerate(RETRY_DELAYS, 1):
        (delivery,) = await outbox.deliveries(person, endpoint["id"])
        assert (delivery["status"], delivery["attempts"]) == ("pending", attempt)
        due = datetime.fromisoformat(delivery["next_attempt_at"]) - clock()
        assert delay - timedelta(seconds=5) <= due <= delay * (1 + JITTER)
        clock.move(due - timedelta(seconds=1))
        await outbox.deliver()
        assert len(receiver.requests) == attempt
        clock.move(timedelta(seconds=1.5))
        await outbox.deliver()
        assert len(receiver.requests) == attempt + 1
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["status"], delivery["attempts"]) == ("failed", MAX_ATTEMPTS)
    assert (delivery["next_attempt_at"], delivery["response_status"]) == (None, 503)
    assert delivery["last_error"] == "The answer was 503."
    assert [each["excerpt"] for each in delivery["log"]] == ["not now"] * MAX_ATTEMPTS
    assert (
        len({request.delivery_id for request in receiver.requests})
        == len({request.body for request in receiver.requests})
        == 1
    )
    assert len({request.headers["api-signature"] for request in receiver.requests}) == MAX_ATTEMPTS
    clock.move(timedelta(days=3))
    await outbox.deliver()
    assert len(receiver.requests) == MAX_ATTEMPTS
    clock.ahead *= 0


@pytest.mark.parametrize(
    ("retry_after", "seconds"),
    [("900", 900), ("0", 5), ("1", 5), ("999999999", 86400), ("soon", 5), ("-5", 5)],
)
async def test_retry_after_in_seconds_extends_the_delay(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock, retry_after: str, seconds: int
):
    receiver.respond = respond_with(http_response(429, retry_after=retry_after))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    due = (datetime.fromisoformat(delivery["next_attempt_at"]) - clock()).total_seconds()
    assert seconds - 5 < due <= seconds * (1 + JITTER)


async def test_retry_after_can_be_a_date(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    later = clock() + timedelta(hours=2)
    receiver.respond = respond_with(http_response(503, retry_after=f"{later:%a, %d %b %Y %H:%M:%S} GMT"))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert abs(datetime.fromisoformat(delivery["next_attempt_at"]) - later) < timedelta(seconds=5)


async def test_410_gone_disables_the_endpoint_and_notifies_its_owner(
    outbox: Outbox, person: Person, receiver: Receiver
):
    receiver.respond = respond_with(http_response(410))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    await publish_event(outbox, person)
    await outbox.deliver()
    assert len(receiver.requests) == 1
    await _assert_disabled(outbox, person, endpoint["id"], "It answered 410 Gone.")


async def _assert_disabled(outbox: Outbox, person: Person, endpoint: str, reason: str) -> None:
    shown = (await person.session.get(f"/v1/webhook-endpoints/{endpoint}")).json()["data"]
    assert (shown["enabled"], shown["disabled_reason"]) == (False, reason)
    await outbox.number_events()
    events = (await person.session.get("/v1/events?type=webhook.endpoint_disabled")).json()["data"]
    assert [each["type"] for each in events] == ["webhook.endpoint_disabled"]
    notifications = (await person.session.get("/v1/notifications?bell=true")).json()["data"]
    assert [each["payload"] for each in notifications] == [{"endpoint_id": endpoint, "reason": reason}]
    await clean_up(outbox)
    pending = await outbox.value(
        "select count(*) from webhook_deliveries where endpoint_id = $1 and status = 'pending'", endpoint
    )
    assert pending == 0


async def test_an_endpoint_is_disabled_after_five_days_of_failures(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    receiver.respond = respond_with(http_response(500))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    began = clock()
    while clock() - began < DISABLE_AFTER - timedelta(hours=12):
        await publish_event(outbox, person)
        await outbox.deliver()
        clock.move(timedelta(hours=12))
        shown = (await person.session.get(f"/v1/webhook-endpoints/{endpoint['id']}")).json()["data"]
        assert shown["enabled"], clock() - began
    clock.move(timedelta(hours=12))
    await outbox.deliver()
    await _assert_disabled(outbox, person, endpoint["id"], "Every delivery failed for 5 days.")
    clock.ahead *= 0


async def test_one_success_in_five_days_keeps_an_endpoint_enabled(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    for day in range(12):
        receiver.respond = respond_with(http_response(200 if day % 4 == 3 else 500))
        await publish_event(outbox, person)
        await outbox.deliver()
        clock.move(timedelta(days=1))
    shown = (await person.session.get(f"/v1/webhook-endpoints/{endpoint['id']}")).json()["data"]
    assert shown["enabled"]
    clock.ahead *= 0
