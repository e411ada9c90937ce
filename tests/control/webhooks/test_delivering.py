"""Deliveries: signed, sent until they are taken, and only where and to whom they may go."""

import asyncio
import time
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from stead.control.http.principal import Pin
from stead.control.webhooks import service
from stead.control.webhooks.client import MAX_RESPONSE_BYTES
from stead.control.webhooks.delivery_worker import MAX_PER_ENDPOINT
from stead.control.webhooks.queue import LEASE, LOG_LENGTH
from stead.control.webhooks.rules import DISABLE_AFTER, JITTER, MAX_ATTEMPTS, RETRY_DELAYS
from stead.shared.clock import MovableClock
from stead.shared.roles import Role
from tests import teams
from tests.client import code_of
from tests.control.webhooks.verifying import documented
from tests.outbox import Outbox
from tests.people import EVERY_SCOPE, Person
from tests.receiver import Receiver, answer, never, saying

DOMAIN = {"domain": "example.com"}


async def _event(outbox: Outbox, person: Person, type_: str = "site.restarted", **about: Any) -> None:
    await outbox.publish(type_, **(about or {"account_id": person.id}), data=DOMAIN)


async def test_a_delivery_is_the_event_signed(outbox: Outbox, person: Person, receiver: Receiver):
    async with outbox.plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
    endpoint = await outbox.endpoint(person, receiver.url + "?x=1", "deploy.completed")
    await _event(outbox, person, "deploy.completed", account_id=person.id, site_id=site)
    await outbox.deliver()
    (got,) = receiver.got
    (told,) = (await person.session.get("/v1/events?type=deploy.completed")).json()["data"]
    assert got.path == "/hook?x=1"
    assert msgspec.json.decode(got.body) == {
        name: told[name] for name in ("id", "type", "site_id", "env_id", "created_at", "data")
    }
    assert got.headers["host"] == f"{receiver.host}:8443"
    assert got.headers["content-type"] == "application/json"
    assert documented().verify(endpoint["secret"], got.headers, got.body)
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert delivery["id"] == got.delivery == got.headers["webhook-id"]
    assert (delivery["status"], delivery["attempts"], delivery["response_status"]) == ("delivered", 1, 204)
    assert (delivery["next_attempt_at"], delivery["last_error"]) == (None, None)
    assert delivery["event_id"] == told["id"]


@pytest.mark.parametrize("what", ["body", "api-delivery-id", "api-signature", "secret", "time"])
async def test_a_delivery_that_was_tampered_with_does_not_verify(
    outbox: Outbox, person: Person, receiver: Receiver, what: str
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    (got,) = receiver.got
    secret, headers, body, now = endpoint["secret"], dict(got.headers), got.body, time.time()
    verify = documented().verify
    assert verify(secret, headers, body, now=now)
    if what == "body":
        body = body.replace(b"example.com", b"example.org")
    elif what == "secret":
        secret = (await outbox.endpoint(person, receiver.url))["secret"]
    elif what == "time":
        now += 3600
    elif what == "api-signature":
        headers[what] = headers[what][:-1] + ("0" if headers[what][-1] != "0" else "1")
    else:
        headers[what] = headers[what][:-1] + ("0" if headers[what][-1] != "0" else "1")
    assert not verify(secret, headers, body, now=now)


async def test_after_a_roll_both_secrets_sign_for_a_day(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    rolled = (await person.session.post(f"/v1/webhook-endpoints/{endpoint['id']}/roll")).json()["data"]
    verify = documented().verify
    await _event(outbox, person)
    await outbox.deliver()
    (during,) = receiver.got
    for secret in (endpoint["secret"], rolled["secret"]):
        assert verify(secret, during.headers, during.body)
    assert (
        during.headers["api-signature"].count("v1=") == during.headers["webhook-signature"].count("v1,") == 2
    )
    clock.move(timedelta(hours=24, seconds=1))
    await _event(outbox, person)
    await outbox.deliver()
    _, after = receiver.got
    now = clock().timestamp()
    assert verify(rolled["secret"], after.headers, after.body, now=now)
    assert not verify(endpoint["secret"], after.headers, after.body, now=now)


async def test_a_second_roll_ends_the_oldest_secret_at_once(
    outbox: Outbox, person: Person, receiver: Receiver
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    where = f"/v1/webhook-endpoints/{endpoint['id']}/roll"
    second, third = [(await person.session.post(where)).json()["data"]["secret"] for _ in range(2)]
    await _event(outbox, person)
    await outbox.deliver()
    (got,) = receiver.got
    verdicts = [
        documented().verify(each, got.headers, got.body) for each in (endpoint["secret"], second, third)
    ]
    assert verdicts == [False, True, True]


async def test_what_fails_is_tried_again_by_the_schedule_and_then_no_more(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    receiver.behave = saying(answer(503, b"not now"))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    for attempt, pause in enumerate(RETRY_DELAYS, 1):
        (delivery,) = await outbox.deliveries(person, endpoint["id"])
        assert (delivery["status"], delivery["attempts"]) == ("pending", attempt)
        due = datetime.fromisoformat(delivery["next_attempt_at"]) - clock()
        assert pause - timedelta(seconds=5) <= due <= pause * (1 + JITTER)
        clock.move(due - timedelta(seconds=1))
        await outbox.deliver()
        assert len(receiver.got) == attempt
        clock.move(timedelta(seconds=1.5))
        await outbox.deliver()
        assert len(receiver.got) == attempt + 1
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["status"], delivery["attempts"]) == ("failed", MAX_ATTEMPTS)
    assert (delivery["next_attempt_at"], delivery["response_status"]) == (None, 503)
    assert delivery["last_error"] == "The answer was 503."
    assert [each["excerpt"] for each in delivery["log"]] == ["not now"] * MAX_ATTEMPTS
    assert len({got.delivery for got in receiver.got}) == len({got.body for got in receiver.got}) == 1
    assert len({got.headers["api-signature"] for got in receiver.got}) == MAX_ATTEMPTS
    clock.move(timedelta(days=3))
    await outbox.deliver()
    assert len(receiver.got) == MAX_ATTEMPTS
    clock.ahead *= 0


@pytest.mark.parametrize(
    ("asked", "seconds"), [("900", 900), ("0", 5), ("1", 5), ("999999999", 86400), ("soon", 5), ("-5", 5)]
)
async def test_a_receiver_that_says_when_is_asked_then(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock, asked: str, seconds: int
):
    receiver.behave = saying(answer(429, retry_after=asked))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    due = (datetime.fromisoformat(delivery["next_attempt_at"]) - clock()).total_seconds()
    assert seconds - 5 < due <= seconds * (1 + JITTER)


async def test_a_receiver_may_say_when_with_a_date(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    later = clock() + timedelta(hours=2)
    receiver.behave = saying(answer(503, retry_after=f"{later:%a, %d %b %Y %H:%M:%S} GMT"))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert abs(datetime.fromisoformat(delivery["next_attempt_at"]) - later) < timedelta(seconds=5)


async def test_an_endpoint_that_is_gone_is_disabled_and_its_owner_told(
    outbox: Outbox, person: Person, receiver: Receiver
):
    receiver.behave = saying(answer(410))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    await _event(outbox, person)
    await outbox.deliver()
    assert len(receiver.got) == 1
    await _assert_disabled(outbox, person, endpoint["id"], "It answered 410 Gone.")


async def _assert_disabled(outbox: Outbox, person: Person, endpoint: str, reason: str) -> None:
    shown = (await person.session.get(f"/v1/webhook-endpoints/{endpoint}")).json()["data"]
    assert (shown["enabled"], shown["disabled_reason"]) == (False, reason)
    await outbox.number_events()
    told = (await person.session.get("/v1/notifications?bell=true")).json()["data"]
    assert [each["payload"] for each in told] == [{"endpoint_id": endpoint, "reason": reason}]
    while await _settled(outbox):
        pass
    waiting = await outbox.value(
        "select count(*) from webhook_deliveries where endpoint_id = $1 and status = 'pending'", endpoint
    )
    assert waiting == 0


async def _settled(outbox: Outbox) -> int:
    async with outbox.plane.database.transaction() as tx:
        return await service.clean_up(tx)


async def test_five_days_of_nothing_but_failures_disable_an_endpoint(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    receiver.behave = saying(answer(500))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    began = clock()
    while clock() - began < DISABLE_AFTER - timedelta(hours=12):
        await _event(outbox, person)
        await outbox.deliver()
        clock.move(timedelta(hours=12))
        shown = (await person.session.get(f"/v1/webhook-endpoints/{endpoint['id']}")).json()["data"]
        assert shown["enabled"], clock() - began
    clock.move(timedelta(hours=12))
    await outbox.deliver()
    await _assert_disabled(outbox, person, endpoint["id"], "Every delivery failed for 5 days.")
    clock.ahead *= 0


async def test_one_success_in_five_days_keeps_an_endpoint(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    for day in range(12):
        receiver.behave = saying(answer(200 if day % 4 == 3 else 500))
        await _event(outbox, person)
        await outbox.deliver()
        clock.move(timedelta(days=1))
    shown = (await person.session.get(f"/v1/webhook-endpoints/{endpoint['id']}")).json()["data"]
    assert shown["enabled"]
    clock.ahead *= 0


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_a_failure_and_is_not_followed(
    outbox: Outbox, person: Person, receiver: Receiver, status: int
):
    elsewhere = Receiver()
    receiver.behave = saying(answer(status, location=elsewhere.url))
    async with elsewhere.open(outbox.authority.server_context(elsewhere.host)):
        endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
        await _event(outbox, person)
        await outbox.deliver()
    assert (len(receiver.got), elsewhere.connections) == (1, 0)
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["status"], delivery["response_status"]) == ("pending", status)


async def test_a_receiver_that_does_not_answer_is_not_waited_for(
    outbox: Outbox, person: Person, receiver: Receiver
):
    receiver.behave, outbox.seconds = never, 0.5
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["response_status"], delivery["last_error"]) == (None, "There was no answer in time.")
    assert 400 <= delivery["log"][0]["duration_ms"] < 5000


ODD = {
    "nothing": (b"", "The connection was closed without an answer."),
    "noise": (b"\x00\x01\x02 nothing of HTTP\r\n\r\n", "The answer was not HTTP."),
    "half": (b"HTTP/1.1 200 OK\r\nconnection: close\r\nx: y", "The answer ended before its headers did."),
    "headers": (
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 2 * MAX_RESPONSE_BYTES,
        "The answer's headers are too long.",
    ),
    "upgrade": (b"HTTP/1.1 101 x\r\nupgrade: y\r\nconnection: upgrade\r\n\r\n", "The answer was not HTTP."),
}


@pytest.mark.parametrize("odd", ODD)
async def test_an_odd_answer_is_a_failure_with_a_reason(
    outbox: Outbox, person: Person, receiver: Receiver, odd: str
):
    said, reason = ODD[odd]
    receiver.behave, outbox.seconds = saying(said), 3.0
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["status"], delivery["last_error"]) == ("pending", reason)


LONG = {
    "endless": b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + b"z" * 4 * MAX_RESPONSE_BYTES,
    "promised": b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n" + b"z" * 4 * MAX_RESPONSE_BYTES,
    "chunked": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    + b"5\r\nzzzzz\r\n" * MAX_RESPONSE_BYTES,
}


@pytest.mark.parametrize("how", LONG)
async def test_a_long_answer_is_read_to_a_bound(outbox: Outbox, person: Person, receiver: Receiver, how: str):
    receiver.behave = saying(LONG[how])
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert delivery["status"] == "delivered"
    assert delivery["log"][0]["excerpt"] == "z" * 200


async def test_interim_answers_are_passed_over(outbox: Outbox, person: Person, receiver: Receiver):
    receiver.behave = saying(b"HTTP/1.1 103 Early\r\nlink: x\r\n\r\n" + answer(202))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    assert [each["response_status"] for each in await outbox.deliveries(person, endpoint["id"])] == [202]


async def test_of_an_answer_only_a_short_safe_part_is_kept(
    outbox: Outbox, person: Person, receiver: Receiver
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    secret = endpoint["secret"]
    said = f"a\x00\x1b[31m\r\nb\u202e{secret} {secret[6:]} " + "x" * 900 + secret
    receiver.behave = saying(answer(500, said.encode()[: 1000 + len(secret) // 2]))
    await _event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    excerpt = delivery["log"][0]["excerpt"]
    assert len(excerpt) <= 200
    assert excerpt.startswith("a [31m b")
    assert secret[6:20] not in excerpt
    assert excerpt.isprintable()


async def test_only_so_many_attempts_are_kept(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    for _ in range(LOG_LENGTH + 2):
        await _replay(person, endpoint["id"], delivery["id"])
        await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (len(delivery["log"]), delivery["attempts"]) == (LOG_LENGTH, 1)


async def _replay(person: Person, endpoint: str, delivery: str) -> Any:
    return await person.session.post(f"/v1/webhook-endpoints/{endpoint}/deliveries/{delivery}/replay")


async def test_a_replay_is_the_same_delivery_signed_anew(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    clock.move(timedelta(hours=1))
    replayed = await _replay(person, endpoint["id"], delivery["id"])
    assert replayed.status_code == 202
    data = replayed.json()["data"]
    assert (data["status"], data["attempts"], data["delivered_at"]) == ("pending", 0, None)
    await outbox.deliver()
    first, again = receiver.got
    assert (first.delivery, first.body) == (again.delivery, again.body)
    assert first.headers["api-signature"] != again.headers["api-signature"]
    assert documented().verify(endpoint["secret"], again.headers, again.body, now=clock().timestamp())


async def test_nothing_is_replayed_to_a_disabled_endpoint(outbox: Outbox, person: Person, receiver: Receiver):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    where = f"/v1/webhook-endpoints/{endpoint['id']}"
    await person.session.patch(where, json={"enabled": False})
    assert code_of(await _replay(person, endpoint["id"], delivery["id"])) == "webhook_endpoint.disabled"
    await _event(outbox, person)
    await outbox.deliver()
    assert len(receiver.got) == 1
    await person.session.patch(where, json={"enabled": True})
    assert (await _replay(person, endpoint["id"], delivery["id"])).status_code == 202


async def test_a_deleted_endpoint_is_sent_nothing_and_leaves_nothing(
    outbox: Outbox, person: Person, receiver: Receiver
):
    receiver.behave = saying(answer(500))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.deliver()
    await person.session.delete(f"/v1/webhook-endpoints/{endpoint['id']}")
    while await _settled(outbox):
        pass
    for table, column in (("webhook_endpoints", "id"), ("webhook_deliveries", "endpoint_id")):
        count = f"select count(*) from {table} where {column} = $1"
        assert await outbox.value(count, endpoint["id"]) == 0


SUBSCRIPTIONS = {
    "*": {"site.restarted", "deploy.completed", "deploy.failed"},
    "deploy.failed": {"deploy.failed"},
    "category:deploy": {"deploy.completed", "deploy.failed"},
    "category:job": set(),
}


async def test_each_endpoint_gets_what_it_chose(outbox: Outbox, person: Person):
    receivers = {chosen: Receiver() for chosen in SUBSCRIPTIONS}
    for chosen, each in receivers.items():
        await outbox.endpoint(person, each.url, chosen)
    await outbox.number_events()
    await outbox.run(
        "update webhook_deliveries set status = 'failed', next_attempt_at = null where status = 'pending'"
    )
    for type_ in sorted(SUBSCRIPTIONS["*"]):
        await _event(outbox, person, type_)
    async with _all_open(outbox, list(receivers.values())):
        await outbox.deliver()
    assert {chosen: {got.type for got in each.got} for chosen, each in receivers.items()} == SUBSCRIPTIONS


class _all_open:  # noqa: N801 - it reads like a function
    def __init__(self, outbox: Outbox, receivers: list[Receiver]) -> None:
        self._opened = [each.open(outbox.authority.server_context(each.host)) for each in receivers]

    async def __aenter__(self) -> None:
        for each in self._opened:
            await each.__aenter__()

    async def __aexit__(self, *error: Any) -> None:
        for each in self._opened:
            await each.__aexit__(*error)


async def test_an_endpoint_is_sent_only_what_its_maker_can_read(outbox: Outbox, person: Person):
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
    async with _all_open(outbox, list(receivers.values())):
        await outbox.deliver()
    got = {
        name: [msgspec.json.decode(each.body)["site_id"] for each in receiver.got]
        for name, receiver in receivers.items()
    }
    assert {name: sorted(sites) for name, sites in got.items()} == {
        "owner": [site, other],
        "observer": [site, other],
        "billing": [],
        "stranger": [],
        "pinned": [site],
        "test": [test_site],
    }


async def test_whoever_left_a_team_is_not_sent_what_still_waited(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    member = await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        team = await teams.insert_team(tx, person.id)
        await teams.insert_member(tx, team, member.id, Role.ADMIN)
    endpoint = await outbox.endpoint(member, receiver.url, "site.restarted")
    receiver.behave = saying(answer(500))
    await outbox.publish("site.restarted", times=2, team_id=team, data=DOMAIN)
    await outbox.deliver()
    assert len(receiver.got) == 2
    assert (await person.session.delete(f"/v1/teams/{team}/members/{member.id}")).status_code == 204
    clock.move(timedelta(hours=1))
    await outbox.deliver()
    assert len(receiver.got) == 2
    first, second = await outbox.deliveries(member, endpoint["id"])
    assert (first["status"], second["status"]) == ("failed", "failed")
    assert code_of(await _replay(member, endpoint["id"], first["id"])) == "webhook_delivery.not_found"


async def test_events_from_before_an_endpoint_are_not_sent_to_it(
    outbox: Outbox, person: Person, receiver: Receiver
):
    await _event(outbox, person)
    await asyncio.sleep(0.005)
    await outbox.endpoint(person, receiver.url, "site.restarted")
    await outbox.deliver()
    assert receiver.got == []


async def test_a_new_endpoint_that_wants_everything_is_told_of_itself_first(
    outbox: Outbox, person: Person, receiver: Receiver
):
    endpoint = await outbox.endpoint(person, receiver.url)
    await outbox.deliver()
    (got,) = receiver.got
    assert got.type == "webhook.endpoint_created"
    assert msgspec.json.decode(got.body)["data"] == {"endpoint_id": endpoint["id"]}


async def test_one_endpoint_has_only_so_many_under_way(outbox: Outbox, person: Person, receiver: Receiver):
    async def slowly(_: Any) -> bytes:
        await asyncio.sleep(0.02)
        return answer()

    receiver.behave = slowly
    await outbox.endpoint(person, receiver.url, "site.restarted")
    await outbox.publish("site.restarted", times=MAX_PER_ENDPOINT * 3, account_id=person.id, data=DOMAIN)
    await outbox.deliver()
    assert len({got.delivery for got in receiver.got}) == len(receiver.got) == MAX_PER_ENDPOINT * 3
    assert receiver.most_at_once == MAX_PER_ENDPOINT
    assert receiver.connections <= MAX_PER_ENDPOINT * 2


async def test_what_a_dead_courier_had_taken_is_sent_by_another(
    outbox: Outbox, person: Person, receiver: Receiver, clock: MovableClock
):
    receiver.behave = never
    await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.number_events()
    dead = outbox.delivery_worker()
    assert await dead.send_due() == 1
    async with asyncio.timeout(10):
        while not receiver.got:  # noqa: ASYNC110 - it comes from a socket
            await asyncio.sleep(0.01)
    for task in list(dead._tasks):
        task.cancel()
    receiver.behave = saying(answer())
    await outbox.deliver()
    assert len(receiver.got) == 1
    clock.move(LEASE)
    await outbox.deliver()
    first, second = receiver.got
    assert first.delivery == second.delivery


async def test_a_late_report_does_not_undo_a_replay(outbox: Outbox, person: Person, receiver: Receiver):
    let = asyncio.Event()

    async def wait(_: Any) -> bytes:
        await let.wait()
        return answer()

    receiver.behave = wait
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await _event(outbox, person)
    await outbox.number_events()
    delivery_worker = outbox.delivery_worker()
    assert await delivery_worker.send_due() == 1
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (await _replay(person, endpoint["id"], delivery["id"])).status_code == 202
    let.set()
    await delivery_worker.wait_until_idle()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["status"], delivery["attempts"]) == ("pending", 0)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["status"], delivery["attempts"]) == ("delivered", 1)


async def test_a_connection_that_was_closed_meanwhile_costs_no_attempt(
    outbox: Outbox, person: Person, receiver: Receiver
):
    """The server answers once a connection and then closes it without saying so."""
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    delivery_worker = outbox.delivery_worker()
    for _ in range(3):
        await _event(outbox, person)
        await outbox.deliver(delivery_worker)
        for task in list(receiver._tasks):
            task.cancel()
        await asyncio.sleep(0.05)
    assert {each["attempts"] for each in await outbox.deliveries(person, endpoint["id"])} == {1}
    assert len(receiver.got) == 3


async def test_a_courier_runs_by_itself(outbox: Outbox, person: Person, receiver: Receiver):
    delivery_worker = outbox.delivery_worker()
    running = asyncio.create_task(delivery_worker.run())
    try:
        await outbox.endpoint(person, receiver.url, "site.restarted")
        await outbox.publish("site.restarted", times=20, account_id=person.id, data=DOMAIN)
        await outbox.number_events()
        async with asyncio.timeout(20):
            waiting = "select count(*) from webhook_deliveries where status = 'pending'"
            while await outbox.value(waiting):  # noqa: ASYNC110 - it comes from the database
                await asyncio.sleep(0.05)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    assert len(receiver.got) == 20
