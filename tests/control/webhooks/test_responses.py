"""Responses of receivers: redirects, timeouts, invalid and long responses, and what is recorded of them."""

import pytest

from stead.control.webhooks.client import MAX_RESPONSE_BYTES
from tests.control.webhooks.deliveries import publish_event
from tests.outbox import Outbox
from tests.people import Person
from tests.receiver import Receiver, http_response, never_respond, respond_with


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
async def test_a_redirect_is_a_failure_and_is_not_followed(
    outbox: Outbox, person: Person, receiver: Receiver, status: int
):
    elsewhere = Receiver()
    receiver.respond = respond_with(http_response(status, location=elsewhere.url))
    async with elsewhere.open(outbox.authority.server_context(elsewhere.host)):
        endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
        await publish_event(outbox, person)
        await outbox.deliver()
    assert (len(receiver.requests), elsewhere.connections) == (1, 0)
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["status"], delivery["response_status"]) == ("pending", status)


async def test_a_receiver_that_does_not_respond_times_out(outbox: Outbox, person: Person, receiver: Receiver):
    receiver.respond, outbox.seconds = never_respond, 0.5
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["response_status"], delivery["last_error"]) == (None, "There was no answer in time.")
    assert 400 <= delivery["log"][0]["duration_ms"] < 5000


INVALID_RESPONSES = {
    "nothing": (b"", "The connection was closed without an answer."),
    "noise": (b"\x00\x01\x02 not HTTP\r\n\r\n", "The answer was not HTTP."),
    "incomplete headers": (
        b"HTTP/1.1 200 OK\r\nconnection: close\r\nx: y",
        "The answer ended before its headers did.",
    ),
    "long headers": (
        b"HTTP/1.1 200 OK\r\n" + b"x: " + b"y" * 2 * MAX_RESPONSE_BYTES,
        "The answer's headers are too long.",
    ),
    "upgrade": (b"HTTP/1.1 101 x\r\nupgrade: y\r\nconnection: upgrade\r\n\r\n", "The answer was not HTTP."),
}


@pytest.mark.parametrize("case", INVALID_RESPONSES)
async def test_an_invalid_response_is_a_failure_with_a_reason(
    outbox: Outbox, person: Person, receiver: Receiver, case: str
):
    response, reason = INVALID_RESPONSES[case]
    receiver.respond, outbox.seconds = respond_with(response), 3.0
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert (delivery["status"], delivery["last_error"]) == ("pending", reason)


LONG_RESPONSES = {
    "endless": b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n" + b"z" * 4 * MAX_RESPONSE_BYTES,
    "promised": b"HTTP/1.1 200 OK\r\ncontent-length: 99999999\r\n\r\n" + b"z" * 4 * MAX_RESPONSE_BYTES,
    "chunked": b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"
    + b"5\r\nzzzzz\r\n" * MAX_RESPONSE_BYTES,
}


@pytest.mark.parametrize("case", LONG_RESPONSES)
async def test_a_long_response_is_read_up_to_a_limit(
    outbox: Outbox, person: Person, receiver: Receiver, case: str
):
    receiver.respond = respond_with(LONG_RESPONSES[case])
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    assert delivery["status"] == "delivered"
    assert delivery["log"][0]["excerpt"] == "z" * 200


async def test_interim_responses_are_skipped(outbox: Outbox, person: Person, receiver: Receiver):
    receiver.respond = respond_with(b"HTTP/1.1 103 Early\r\nlink: x\r\n\r\n" + http_response(202))
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    await publish_event(outbox, person)
    await outbox.deliver()
    assert [each["response_status"] for each in await outbox.deliveries(person, endpoint["id"])] == [202]


async def test_only_a_short_printable_excerpt_of_a_response_is_stored(
    outbox: Outbox, person: Person, receiver: Receiver
):
    endpoint = await outbox.endpoint(person, receiver.url, "site.restarted")
    secret = endpoint["secret"]
    body = f"a\x00\x1b[31m\r\nb\u202e{secret} {secret[6:]} " + "x" * 900 + secret
    receiver.respond = respond_with(http_response(500, body.encode()[: 1000 + len(secret) // 2]))
    await publish_event(outbox, person)
    await outbox.deliver()
    (delivery,) = await outbox.deliveries(person, endpoint["id"])
    excerpt = delivery["log"][0]["excerpt"]
    assert len(excerpt) <= 200
    assert excerpt.startswith("a [31m b")
    assert secret[6:20] not in excerpt
    assert excerpt.isprintable()
