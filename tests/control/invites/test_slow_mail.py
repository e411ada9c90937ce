"""An SMTP server that is slow to accept mail: every email arrives once."""

import asyncio

import pytest

from stead.control.engines import postgres_pool
from stead.control.outbox.mail import CLAIMED_FOR, MailSender
from stead.control.sealing import Sealer
from stead.shared.clock import MovableClock
from tests.control.invites.conftest import Mailing
from tests.control.invites.sink import Sink, mail_sender_of
from tests.teams import found_team

HOLD_SECONDS = 0.5


@pytest.fixture
def short_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Connections are closed early, so that the server need not be slow for longer than eight seconds."""
    monkeypatch.setattr(postgres_pool, "MAX_HOLD_SECONDS", HOLD_SECONDS)
    monkeypatch.setattr(postgres_pool, "CHECK_SECONDS", HOLD_SECONDS / 5)


async def _invite(mailing: Mailing, count: int = 1) -> None:
    person = await mailing.person()
    team = await found_team(person)
    for number in range(count):
        await mailing.invite(person, team, f"guest-{number}@example.com")


async def test_an_email_that_is_accepted_slowly_is_sent_once(
    mailing: Mailing, sink: Sink, short_hold: None, clock: MovableClock
) -> None:
    await _invite(mailing)
    sink.seconds = HOLD_SECONDS * 4
    for _ in range(3):
        await mail_sender_of(mailing.plane).send_due()
        clock.move(CLAIMED_FOR * 2)
    assert (sink.tried, await mailing.waiting()) == (1, 0)


async def test_two_workers_do_not_send_the_same_email(mailing: Mailing, sink: Sink) -> None:
    await _invite(mailing, 6)
    sink.seconds = 0.1
    tried = await asyncio.gather(*(mail_sender_of(mailing.plane).send_due() for _ in range(3)))
    assert (sum(tried), sink.tried, await mailing.waiting()) == (6, 6, 0)
    assert len({str(letter.message["message-id"]) for letter in sink.letters}) == 6


async def test_an_email_whose_worker_died_is_sent_by_another_when_the_claim_has_expired(
    mailing: Mailing, sink: Sink, clock: MovableClock
) -> None:
    await _invite(mailing)
    plane = mailing.plane
    dead = MailSender(
        plane.database, Sealer.from_text(plane.settings.sealing_key), smtp_url=sink.url, sender="a@b.example"
    )
    assert await dead._claim() is not None  # and then it dies
    assert await mail_sender_of(plane).send_due() == 0
    clock.move(CLAIMED_FOR)
    assert await mail_sender_of(plane).send_due() == 1
    assert (len(sink.letters), await mailing.waiting()) == (1, 0)
