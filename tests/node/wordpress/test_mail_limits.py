"""No site delays or repeats the mail of others, whatever it sends and whatever fails."""

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from aiosmtpd.smtp import SMTP, Envelope, Session

from stead.dev.ports import reserve_ports
from stead.node.wordpress import mail as mail_module
from stead.node.wordpress.mail import READ_AT_ONCE, SMALL_BYTES, SiteMail
from stead.node.wordpress.mail_message import MAX_BYTES, MailRefused, OutgoingMail, prepare
from stead.node.wordpress.mail_relay import MailRelay
from stead.node.wordpress.mail_spool import MailSpool
from tests.node.harness import until
from tests.node.wordpress.inbox import Inbox
from tests.patience import time_limit

SENDER = "bounces@platform.example"
SMALL = b"To: a@example.com\n\nHello"
LARGE = SMALL + b"x" * SMALL_BYTES


class Lines(list[str]):
    async def write(self, _: str, text: str) -> None:
        self.append(text.removeprefix("mail: not sent: "))


@pytest.fixture
async def spool(tmp_path: Path) -> AsyncIterator[MailSpool]:
    made = MailSpool(tmp_path / "mail.sqlite", 100)
    yield made
    made.close()


@pytest.fixture
async def inbox() -> AsyncIterator[Inbox]:
    (port,) = reserve_ports(1)
    made = Inbox(port)
    made.start()
    yield made
    made.stop()


def sent(content: bytes) -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    reader.feed_data(content)
    return reader


async def accept(mail: SiteMail, environment: str, content: bytes) -> str:
    return await mail.accept(environment, len(content), sent(content))


async def test_slow_sites_do_not_delay_the_mail_of_others(spool: MailSpool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(mail_module, "IDLE_SECONDS", 0.3)
    lines = Lines()
    mail = SiteMail(spool, MailRelay("smtps://relay.example"), SENDER, lines.write)
    slow = [
        asyncio.create_task(mail.accept(f"slow-{number}", MAX_BYTES, sent(SMALL)))
        for number in range(READ_AT_ONCE)
    ]
    async with time_limit(20):
        await asyncio.sleep(0)
        assert await accept(mail, "env_a", SMALL) == ""
        assert await accept(mail, "env_a", LARGE) == ""
        assert set(await asyncio.gather(*slow)) == {"the site sent it too slowly"}


async def test_the_quota_is_checked_before_a_message_is_read(tmp_path: Path):
    spool, lines = MailSpool(tmp_path / "none.sqlite", 0), Lines()
    mail = SiteMail(spool, MailRelay("smtps://relay.example"), SENDER, lines.write)
    assert await accept(mail, "env_a", b"malformed") == "the site has sent to 0 recipients within an hour"
    spool.close()


async def test_messages_are_read_beside_the_event_loop(spool: MailSpool, monkeypatch: pytest.MonkeyPatch):
    threads: list[int] = []

    def record(raw: bytes, environment: str, sender: str) -> OutgoingMail:
        threads.append(threading.get_ident())
        return prepare(raw, environment, sender)

    monkeypatch.setattr(mail_module, "prepare", record)
    mail = SiteMail(spool, MailRelay("smtps://relay.example"), SENDER, Lines().write)
    assert await accept(mail, "env_a", SMALL) == ""
    assert threading.get_ident() not in threads


async def test_nobody_waits_for_the_end_of_a_message_of_any_size(spool: MailSpool):
    mail = SiteMail(spool, None, SENDER, Lines().write)
    async with time_limit(20):
        assert await mail.accept("env_a", 2 * MAX_BYTES + 1, asyncio.StreamReader())


async def test_refusals_write_few_lines(spool: MailSpool):
    lines = Lines()
    mail = SiteMail(spool, None, SENDER, lines.write)
    for _ in range(100):
        await accept(mail, "env_a", SMALL)
    assert 1 <= len(lines) < 50


async def test_many_sites_do_not_fill_the_spool(spool: MailSpool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stead.node.wordpress.mail_spool.MAX_ALL_BYTES", 20_000)
    monkeypatch.setattr("stead.node.wordpress.mail_spool.MAX_BYTES_WHEN_CROWDED", 1000)
    large, small = OutgoingMail(("a@example.com",), b"x" * 4000), OutgoingMail(("a@example.com",), b"x" * 900)
    for number in range(2):
        spool.add(f"env_{number}", large)
    with pytest.raises(MailRefused, match="of the site"):
        spool.add("env_3", large)
    spool.add("env_4", small)


async def test_a_message_is_sent_once_although_that_cannot_be_stored(
    spool: MailSpool, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mail_module, "TICK_SECONDS", 0.05)
    monkeypatch.setattr(mail_module, "PAUSE_SECONDS", 0.1)
    monkeypatch.setattr("stead.node.wordpress.mail_spool.FIRST_PAUSE", 0.05)
    attempts, receive = 0, inbox.handle_DATA

    async def refuse_writes(server: SMTP, session: Session, envelope: Envelope) -> str:
        spool._database.execute("pragma query_only = on")
        return await receive(server, session, envelope)

    monkeypatch.setattr(inbox, "handle_DATA", refuse_writes)
    due = spool.due

    def count() -> dict[str, int]:
        nonlocal attempts
        attempts += 1
        return due()

    monkeypatch.setattr(spool, "due", count)
    spool.add("env_a", prepare(SMALL, "env_a", SENDER))
    running = asyncio.create_task(SiteMail(spool, MailRelay(inbox.url), SENDER, Lines().write).run())

    async def was_tried_often() -> bool | None:
        return (inbox.received and attempts >= 6) or None

    async def is_removed() -> bool | None:
        return spool.get(1) is None or None

    try:
        await until(was_tried_often, 60)
        assert spool.get(1) is not None
        spool._database.execute("pragma query_only = off")
        await until(is_removed, 60)
    finally:
        running.cancel()
        await asyncio.wait({running})
    assert len(inbox.received) == 1


async def test_recipients_that_the_relay_refuses_are_tried_again_or_logged(
    spool: MailSpool, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(mail_module, "TICK_SECONDS", 0.05)
    monkeypatch.setattr("stead.node.wordpress.mail_spool.FIRST_PAUSE", 0.05)
    inbox.refusals = {"b@example.com": ["450 later"], "c@example.com": ["550 unknown"]}
    raw, lines = b"To: a@example.com, b@example.com, c@example.com\n\nHello", Lines()
    spool.add("env_a", prepare(raw, "env_a", SENDER))
    running = asyncio.create_task(SiteMail(spool, MailRelay(inbox.url), SENDER, lines.write).run())
    try:
        first, second = await inbox.next(), await inbox.next()

        async def is_removed() -> bool | None:
            return spool.get(1) is None or None

        await until(is_removed, 30)
    finally:
        running.cancel()
        await asyncio.wait({running})
    assert (first.rcpt_tos, second.rcpt_tos) == (["a@example.com"], ["b@example.com"])
    assert lines == ["the relay refused 1 of 3 recipients (550)"]
