"""Notifications by mail: the first at once, the next together, and a way out that works with one click."""

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


async def _mail(outbox: Outbox, sink: Sink) -> list[Received]:
    """Everything that leaves now."""
    await outbox.number_events()
    await outbox.digest_mailer().enqueue_due()
    before = len(sink.letters)
    postman = MailSender(outbox.plane.database, outbox.sealer, smtp_url=sink.url, sender="post@stead.example")
    await postman.send_due()
    return sink.letters[before:]


async def _fail(outbox: Outbox, person: Person, times: int = 1, **about: Any) -> None:
    await outbox.publish("deploy.failed", times=times, account_id=person.id, data=FAILED, **about)


def _part(letter: Received, kind: str) -> str:
    part = letter.message.get_body((kind,))
    assert part is not None
    return str(part.get_content())


def _link(letter: Received) -> str:
    return str(letter.message["list-unsubscribe"]).strip("<>")


async def test_a_letter_has_two_parts_and_a_way_out(outbox: Outbox, sink: Sink):
    person = await outbox.person()
    await _fail(outbox, person)
    (letter,) = await _mail(outbox, sink)
    assert letter.recipients == [person.account.email]
    assert letter.message["subject"] == "A deployment failed"
    assert letter.message.get_content_type() == "multipart/alternative"
    assert "example.com failed: It did not <b>answer</b>." in _part(letter, "plain")
    html = _part(letter, "html")
    assert "It did not &lt;b&gt;answer&lt;/b&gt;." in html
    assert "<b>answer" not in html
    assert letter.message["list-unsubscribe-post"] == "List-Unsubscribe=One-Click"
    link = _link(letter)
    assert link.startswith("http://stead.test/notifications/unsubscribe?token=")
    assert link in _part(letter, "plain")
    assert await _mail(outbox, sink) == []


async def test_many_are_told_in_one(outbox: Outbox, sink: Sink, clock: MovableClock):
    person = await outbox.person()
    await _fail(outbox, person)
    assert len(await _mail(outbox, sink)) == 1
    for _ in range(3):
        await _fail(outbox, person, 2)
        assert await _mail(outbox, sink) == []
        clock.move(timedelta(minutes=4))
    clock.move(DIGEST_EVERY)
    (digest,) = await _mail(outbox, sink)
    assert digest.message["subject"] == "6 notifications: A deployment failed"
    assert _part(digest, "plain").count("The deployment of example.com failed") == 6
    clock.move(DIGEST_EVERY)
    assert await _mail(outbox, sink) == []


async def test_a_flood_makes_no_endless_letter(outbox: Outbox, sink: Sink):
    person = await outbox.person()
    await _fail(outbox, person, MAX_PER_EMAIL + 20)
    (letter,) = await _mail(outbox, sink)
    assert _part(letter, "plain").count("The deployment of") == MAX_PER_EMAIL
    assert "And 20 more." in _part(letter, "plain")


async def test_a_category_that_was_switched_off_is_not_mailed(outbox: Outbox, sink: Sink):
    person = await outbox.person()
    wish = {"preferences": [{"category": "deploy", "email": False}]}
    await person.session.put("/v1/notification-preferences", json=wish)
    await _fail(outbox, person)
    assert await _mail(outbox, sink) == []
    assert len((await person.session.get("/v1/notifications")).json()["data"]) == 1
    await outbox.publish("site.deleted", account_id=person.id, data={"domain": "example.com"})
    (letter,) = await _mail(outbox, sink)
    assert letter.message["subject"] == "A site was deleted"


async def test_what_is_not_meant_for_mail_is_not_mailed_nor_is_test_mode(outbox: Outbox, sink: Sink):
    person = await outbox.person()
    async with outbox.plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id, mode="test")
    await outbox.publish("deploy.completed", account_id=person.id, data={"domain": "example.com"})
    await _fail(outbox, person, site_id=site)
    assert await _mail(outbox, sink) == []
    assert len((await person.session.get("/v1/notifications")).json()["data"]) == 2


async def _category(person: Person, category: str) -> bool:
    chosen = (await person.session.get("/v1/notification-preferences")).json()["data"]["preferences"]
    return next(bool(each["email"]) for each in chosen if each["category"] == category)


async def test_one_click_ends_mail_of_that_kind_and_a_look_does_not(
    outbox: Outbox, sink: Sink, clock: MovableClock
):
    person = await outbox.person()
    await _fail(outbox, person)
    (letter,) = await _mail(outbox, sink)
    website = httpx.AsyncClient(transport=httpx.ASGITransport(outbox.plane), base_url="http://stead.test")
    looked = await website.get(_link(letter))
    assert (looked.status_code, await _category(person, "deploy")) == (200, True)
    assert re.search(r"<form method=.?post", looked.text)
    clicked = await website.post(_link(letter), content=b"List-Unsubscribe=One-Click")
    assert (clicked.status_code, await _category(person, "deploy")) == (200, False)
    assert await _category(person, "site")
    clock.move(DIGEST_EVERY)
    await _fail(outbox, person)
    assert await _mail(outbox, sink) == []


async def test_a_link_that_we_did_not_make_does_nothing(outbox: Outbox, sink: Sink):
    person = await outbox.person()
    await _fail(outbox, person)
    (letter,) = await _mail(outbox, sink)
    link = _link(letter)
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
            answer = await website.request(method, "/notifications/unsubscribe", params={"token": forged})
            assert answer.status_code == 404, forged
    assert await _category(person, "deploy")


async def test_two_who_mail_at_once_write_each_letter_once(outbox: Outbox, sink: Sink):
    people = [await outbox.person() for _ in range(5)]
    for person in people:
        await _fail(outbox, person, 2)
    await outbox.number_events()
    await asyncio.gather(*(outbox.digest_mailer().enqueue_due() for _ in range(4)))
    letters = await _mail(outbox, sink)
    assert sorted(letter.recipients[0] for letter in letters) == sorted(each.account.email for each in people)
