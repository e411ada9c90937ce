"""The mail of a clone is captured and reported, and reaches nobody."""

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from stead.node.mail_reports import MailReporter
from stead.node.nats_connection import NatsConnection
from stead.node.wordpress import captured_mail
from stead.node.wordpress.captured_mail import CapturedMails
from stead.protocol.commands import MailReport, read_mail_report

MAIL = (
    "To: Ann <ann@example.com>, bob@example.org\nCc: eve@example.net\nFrom: Shop <shop@example.com>\n"
    "Subject: =?utf-8?q?Gr=C3=BC=C3=9Fe?=\nContent-Type: multipart/alternative; boundary=b\n\n"
    "--b\nContent-Type: text/html\n\n<p>HTML</p>\n"
    "--b\nContent-Type: text/plain; charset=utf-8\n\nHällo\n--b--\n"
).encode()


async def capture(mails: CapturedMails, raw: bytes, environment: str = "env_a") -> str:
    reader = asyncio.StreamReader()
    reader.feed_data(raw)
    reader.feed_eof()
    return await mails.accept(environment, len(raw), reader)


async def test_a_captured_mail_shows_who_wrote_what_to_whom() -> None:
    mails = CapturedMails()
    assert await capture(mails, MAIL) == ""
    (mail,) = mails.list_mails()
    assert mail.environment == "env_a"
    assert (mail.sender, mail.subject) == ("Shop <shop@example.com>", "Grüße")
    assert mail.recipients == ("Ann <ann@example.com>", "bob@example.org", "eve@example.net")
    assert (mail.text.strip(), mail.size) == ("Hällo", len(MAIL))


async def test_links_that_set_a_password_are_of_no_use() -> None:
    mails = CapturedMails()
    link = "https://x.example/wp-login.php?action=rp&key=AbC123&login=ann\n<a href='?x=1&amp;key=z9'>"
    await capture(mails, f"To: a@example.com\n\n{link}".encode())
    (mail,) = mails.list_mails()
    assert "AbC123" not in mail.text
    assert "z9" not in mail.text
    assert "action=rp&key=…&login=ann" in mail.text


@pytest.mark.parametrize(
    "raw",
    [
        b"To: " + b'"a" ' * 60_000 + b"\nSubject: hello\n\ntext",
        b"Content-Type: multipart/mixed; boundary=x\n\n--x\nContent-Type: text/plain;"
        + b'\n a="b"' * 30_000
        + b"\n\ntext\n--x--",
    ],
)
async def test_a_header_that_is_slow_to_read_is_cut_off(raw: bytes) -> None:
    """The parser would need minutes for it."""
    mails = CapturedMails()
    assert await capture(mails, raw) == ""
    (mail,) = mails.list_mails()
    assert mail.text.strip() == "text"


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"no header at all",
        b"To: " + b"a@example.com, " * 2000 + b"\n\nmany",
        b"Subject: =?utf-8?b?////?=\n\n\xff\xfe\0",
        b"Content-Type: text/plain; charset=nonsense\n\nx",
        b"Content-Type: multipart/mixed; boundary=x\n\n" + b"--x\n" * 1000,
        b"To: " + b"(" * 5000 + b"\n\nx",
        b"Subject: x\n\n" + b"y" * 100_000,
    ],
)
async def test_every_message_is_captured_within_limits(raw: bytes) -> None:
    mails = CapturedMails()
    assert await capture(mails, raw) == ""
    (mail,) = mails.list_mails()
    assert len(mail.text) <= captured_mail.MAX_TEXT
    assert len(mail.recipients) <= captured_mail.MAX_RECIPIENTS
    assert "\0" not in mail.text + mail.subject


async def test_a_clone_can_fill_neither_the_memory_of_the_node_nor_the_place_of_others() -> None:
    mails = CapturedMails()
    answers = [await capture(mails, MAIL) for _ in range(captured_mail.PER_HOUR + 2)]
    assert answers.count("") == captured_mail.PER_HOUR
    assert await capture(mails, MAIL, "env_b") == ""
    assert "larger than" in await mails.accept("env_b", 1 << 40, asyncio.StreamReader())
    mails.forget("env_a")
    assert [mail.environment for mail in mails.list_mails()] == ["env_b"]


async def test_mail_is_reported_at_once_and_repeated() -> None:
    mails, sent = CapturedMails(), list[MailReport]()

    async def publish(subject: str, data: bytes) -> None:
        assert subject == "node.node-1.mail"
        sent.append(read_mail_report(data))

    async def client() -> SimpleNamespace:
        return SimpleNamespace(publish=publish)

    connection = cast("NatsConnection", SimpleNamespace(connected=True, client=client))
    reporter = MailReporter("node-1", connection, mails.list_mails)
    for _ in range(7):
        await capture(mails, MAIL)
    for _ in range(2):
        await reporter.report()
    assert [len(report.mails) for report in sent] == [5, 2]
    reporter._reported.clear()
    await reporter.report()
    assert [len(report.mails) for report in sent] == [5, 2, 5, 2]
