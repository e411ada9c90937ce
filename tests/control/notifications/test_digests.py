"""Notification emails: the first immediately, the next ones collected, and one-click unsubscribing."""

import asyncio
import re
from collections.abc import AsyncIterator
from datetime import timedelta
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from stead.control.notifications.rules import DIGEST_EVERY, MAX_PER_EMAIL
from stead.control.outbox.mail import MailSender
from stead.shared.clock import MovableClock
from tests import teams
from tests.control.invites.sink import Received, Sink, new_sink
from tests.outbox import Outbox
from tests.people import Person

FAILED = {"domain": "example.com", "reason": "It did not <b>answer</b>."}


@pytest.fixture
async def sink(outbox: Outbox) -> AsyncIterator[Sink]:
    await outbox.number_events()
    await outbox.run("update notifications set mail_wanted_at = null")
    await outbox.run("delete from outgoing_mail")
    made = new_sink()
    with made.open():
        yield made


async def _send_due(outbox: Outbox, sink: Sink) -> list[Received]:
    """Send everything that is due, and return the received emails."""
    await outbox.number_events()
    await outbox.digest_mailer().enqueue_due()
    before = len(sink.letters)
    sender = MailSender(outbox.plane.database, outbox.sealer, smtp_url=sink.url, sender="mail@stead.example")
    await sender.send_due()
    return sink.letters[before:]


async def _publish_failure(outbox: Outbox, person: Person, times: int = 1, **about: Any) -> None:
    await outbox.publish("deploy.failed", times=times, account_id=person.id, data=FAILED, **about)


def _part(email: Received, kind: str) -> str:
    part = email.message.get_body((kind,))
    assert part is not None
    return str(part.get_content())


def _link(email: Received) -> str:
    return str(email.message["list-unsubscribe"]).strip("<>")


async def test_an_email_has_text_and_html_and_an_unsubscribe_link(outbox: Outbox, sink: Sink):
    person = await outbox.person()
    await _publish_failure(outbox, person)
    (email,) = await _send_due(outbox, sink)
    assert email.recipients == [person.account.email]
    assert email.message["subject"] == "A deployment failed"
    assert email.message.get_content_type() == "multipart/alternative"
    assert "example.com failed: It did not <b>answer</b>." in _part(email, "plain")
    html = _part(email, "html")
    assert "It did not &lt;b&gt;answer&lt;/b&gt;." in html
    assert "<b>answer" not in html
    assert email.message["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
    link = _link(email)
    assert link.startswith("http://stead.test/notifications/unsubscribe?token=")
    assert link in _part(email, "plain")
    assert await _send_due(outbox, sink) == []


async def test_later_notifications_are_sent_in_one_email(outbox: Outbox, sink: Sink, clock: MovableClock):
    person = await outbox.person()
    await _publish_failure(outbox, person)
    assert len(await _send_due(outbox, sink)) == 1
    for _ in range(3):
        await _publish_failure(outbox, person, 2)
        assert await _send_due(outbox, sink) == []
        clock.move(timedelta(minutes=4))
    clock.move(DIGEST_EVERY)
    (digest,) = await _send_due(outbox, sink)
    assert digest.message["subject"] == "6 notifications: A deployment failed"
    assert _part(digest, "plain").count("The deployment of example.com failed") == 6
    clock.move(DIGEST_EVERY)
    assert await _send_due(outbox, sink) == []


async def test_an_email_lists_a_limited_number_of_notifications(outbox: Outbox, sink: Sink):
    person = await outbox.person()
    await _publish_failure(outbox, person, MAX_PER_EMAIL + 20)
    (email,) = await _send_due(outbox, sink)
    assert _part(email, "plain").count("The deployment of") == MAX_PER_EMAIL
    assert "And 20 more." in _part(email, "plain")


async def test_a_category_that_was_switched_off_is_not_sent(outbox: Outbox, sink: Sink):
    person = await outbox.person()
    preferences = {"preferences": [{"category": "deploy", "email": False}]}
    await person.session.put("/v1/notification-preferences", json=preferences)
    await _publish_failure(outbox, person)
    assert await _send_due(outbox, sink) == []
    assert len((await person.session.get("/v1/notifications")).json()["data"]) == 1
    await outbox.publish("site.deleted", account_id=person.id, data={"domain": "example.com"})
    (email,) = await _send_due(outbox, sink)
    assert email.message["subject"] == "A site was deleted"


async def test_types_without_email_and_test_mode_send_nothing(outbox: Outbox, sink: Sink):
    person = await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id, mode="test")
    await outbox.publish("deploy.completed", account_id=person.id, data={"domain": "example.com"})
    await _publish_failure(outbox, person, site_id=site)
    assert await _send_due(outbox, sink) == []
    assert len((await person.session.get("/v1/notifications")).json()["data"]) == 2


async def _email_is_on(person: Person, category: str) -> bool:
    preferences = (await person.session.get("/v1/notification-preferences")).json()["data"]["preferences"]
    return next(bool(each["email"]) for each in preferences if each["category"] == category)


async def test_unsubscribing_takes_a_post_and_a_get_changes_nothing(
    outbox: Outbox, sink: Sink, clock: MovableClock
):
    person = await outbox.person()
    await _publish_failure(outbox, person)
    (email,) = await _send_due(outbox, sink)
    website = httpx.AsyncClient(transport=httpx.ASGITransport(outbox.plane), base_url="http://stead.test")
    page = await website.get(_link(email))
    assert (page.status_code, await _email_is_on(person, "deploy")) == (200, True)
    assert re.search(r"<form method=.?post", page.text)
    confirmed = await website.post(_link(email), content=b"List-Unsubscribe=One-Click")
    assert (confirmed.status_code, await _email_is_on(person, "deploy")) == (200, False)
    assert await _email_is_on(person, "site")
    clock.move(DIGEST_EVERY)
    await _publish_failure(outbox, person)
    assert await _send_due(outbox, sink) == []


async def test_a_forged_unsubscribe_link_does_nothing(outbox: Outbox, sink: Sink):
    person = await outbox.person()
    await _publish_failure(outbox, person)
    (email,) = await _send_due(outbox, sink)
    link = _link(email)
    token = urlsplit(link).query.removeprefix("token=")
    website = httpx.AsyncClient(transport=httpx.ASGITransport(outbox.plane), base_url="http://stead.test")
    for forged in (
        "",
        "x",
        "é",
        token[:-2],
        token[:-1] + ("A" if token[-1] != "A" else "B") + "A",
        token[5:],
    ):
        for method in ("GET", "POST"):
            response = await website.request(method, "/notifications/unsubscribe", params={"token": forged})
            assert response.status_code == 404, forged
    assert await _email_is_on(person, "deploy")


async def test_concurrent_mailers_send_each_email_once(outbox: Outbox, sink: Sink):
    people = [await outbox.person() for _ in range(5)]
    for person in people:
        await _publish_failure(outbox, person, 2)
    await outbox.number_events()
    await asyncio.gather(*(outbox.digest_mailer().enqueue_due() for _ in range(4)))
    emails = await _send_due(outbox, sink)
    assert sorted(email.recipients[0] for email in emails) == sorted(each.account.email for each in people)
