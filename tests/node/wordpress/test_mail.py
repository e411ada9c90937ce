# ruff: noqa: E501 - PHP in one line is easier to read
"""mail() of a site goes through the node to the operator's relay, within limits."""

import asyncio
import time
from collections.abc import AsyncIterator
from email import message_from_bytes
from pathlib import Path

import pytest

from stead.dev.ports import reserve_ports
from stead.node.wordpress.mail import SiteMail
from stead.node.wordpress.mail_message import MAX_LINES, MAX_RECIPIENTS, MailRefused, OutgoingMail, prepare
from stead.node.wordpress.mail_relay import MailRelay
from stead.node.wordpress.mail_spool import KEPT_SECONDS, MailSpool
from tests.node.harness import until
from tests.node.wordpress.inbox import Inbox
from tests.node.wordpress.wordpress_node import Site, WordPressNode
from tests.patience import Patience

SENDER = "bounces@platform.example"


@pytest.fixture(scope="module")
async def inbox() -> AsyncIterator[Inbox]:
    (port,) = reserve_ports(1)
    made = Inbox(port)
    made.start()
    yield made
    made.stop()


@pytest.fixture(scope="module")
async def site(node: WordPressNode, inbox: Inbox) -> AsyncIterator[Site]:
    made = await node.create()
    await restart(node, inbox.url)
    yield made
    await node.remove(made)
    await restart(node, "")


async def restart(node: WordPressNode, relay: str) -> None:
    await node.stop_agent()
    node.mail_relay = relay
    await node.start_agent()


async def send(site: Site, *arguments: str) -> bool:
    """Call mail() with PHP expressions."""
    return await site.run_php(f"var_export(mail({', '.join(arguments)}));") == "true"


async def test_wordpress_sends_mail_through_the_relay(site: Site, inbox: Inbox):
    printed = await site.run_php(
        'require "/srv/site/wp-load.php"; var_export(wp_mail(["a@example.com", "b@example.com"], "Grüße", "Hello\\n.\\nthere",'
        ' ["From: Me <me@example.org>", "Cc: c@example.com", "Bcc: d@example.com"]));'
    )
    assert printed == "true"
    envelope = await inbox.next()
    assert envelope.mail_from == f"bounces+{site.environment}@platform.example"
    assert sorted(envelope.rcpt_tos) == ["a@example.com", "b@example.com", "c@example.com", "d@example.com"]
    assert isinstance(envelope.content, bytes)
    message = message_from_bytes(envelope.content)
    assert message["From"] == "Me <me@example.org>"
    assert message["Bcc"] is None
    assert message["Message-ID"]
    assert message["X-Stead-Environment"] == site.environment
    assert b"Hello\r\n.\r\nthere" in envelope.content


def connects_to_mail_server() -> str:
    request = "CONNECT 127.0.0.9:465 HTTP/1.1\\r\\nHost: 127.0.0.9:465\\r\\n\\r\\n"
    return f'$s = stream_socket_client("tcp://127.0.0.1:3128"); fwrite($s, "{request}"); echo stream_get_contents($s);'


async def test_a_clone_reaches_neither_the_relay_nor_a_mail_server_and_its_mail_is_captured(
    node: WordPressNode, site: Site, inbox: Inbox
):
    clone = await node.create(environment_type="staging")
    try:
        assert await send(clone, '"customer@example.com"', '"Renewal"', '"Hello"')
        (mail,) = node.runtime.list_captured_mail()
        assert (mail.environment, mail.recipients, mail.subject) == (
            clone.environment,
            ("customer@example.com",),
            "Renewal",
        )
        assert not inbox.received
        assert "465: it is not on the egress list" in await clone.run_php(connects_to_mail_server())
        assert "465: its address is not public" in await site.run_php(connects_to_mail_server())
        # The platform runs the events of the site, and none of the clone.
        assert site.environment in node.runtime.upkeep.list_scheduled()
        assert clone.environment not in node.runtime.upkeep.list_scheduled()
    finally:
        await node.remove(clone)


async def test_the_site_does_not_choose_the_sender_of_the_envelope(site: Site, inbox: Inbox):
    headers = '"Return-Path: evil@example.org\\r\\nX-Stead-Environment: env_other"'
    assert await send(site, '"a@example.com"', '"s"', '"b"', headers, '"-fevil@example.org -X/tmp/x"')
    envelope = await inbox.next()
    assert envelope.mail_from == f"bounces+{site.environment}@platform.example"
    assert isinstance(envelope.content, bytes)
    assert b"evil" not in envelope.content
    assert b"env_other" not in envelope.content


async def test_an_injected_header_is_refused_and_the_log_says_why(site: Site, inbox: Inbox):
    injected = '"Reply-To: visitor@example.org\\r\\nBcc: x@example.com\\r\\nBcc: y@example.com"'
    assert not await send(site, '"a@example.com"', '"s"', '"b"', injected)
    assert "mail: not sent: the header has more than one `bcc`" in site.paths.log.read_text()
    assert not inbox.received


async def test_a_site_cannot_send_more_than_its_share_or_too_large_messages(site: Site, inbox: Inbox):
    assert not await send(site, '"a@example.com"', '"s"', 'str_repeat("0123456789\\n", 1 << 20)')
    assert "mail: not sent: the message is larger than 10 MiB" in site.paths.log.read_text()
    many = ",".join(f"v{number}@example.com" for number in range(60))
    assert not await send(site, f'"{many}"', '"s"', '"b"')
    printed = await site.run_php(
        'for ($i = 0; $i < 25; $i++) echo mail("a@example.com", "s", "b") ? "y" : "n";'
    )
    assert printed.endswith("n")
    assert 10 <= printed.count("y") <= 20
    for _ in range(printed.count("y")):
        await inbox.next()
    assert "mail: not sent: the site has sent to 20 recipients within an hour" in site.paths.log.read_text()


async def test_without_a_relay_mail_returns_false_and_the_log_says_why(site: Site, inbox: Inbox):
    await restart(site.node, "")
    limit = Patience(30.0)
    # An agent that has just started may not hear the first one.
    while not await send(site, '"a@example.com"', '"s"', '"b"'):
        if (
            "mail: not sent: the operator of the platform has not set a mail relay"
            in site.paths.log.read_text()
        ):
            break
        assert not limit.is_over
    else:
        pytest.fail("mail() returned true")
    await restart(site.node, inbox.url)


async def test_mail_survives_a_restart_and_is_repeated_until_the_relay_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("stead.node.wordpress.mail.TICK_SECONDS", 0.2)
    monkeypatch.setattr("stead.node.wordpress.mail_spool.FIRST_PAUSE", 0.3)
    (port,) = reserve_ports(1)
    inbox, log = Inbox(port), []

    async def write_log(environment: str, text: str) -> None:
        log.append((environment, text))

    spool = MailSpool(tmp_path / "mail.sqlite", 100)
    for name in ("env_a", "env_b"):
        spool.add(name, prepare(b"To: x@example.com\nSubject: " + name.encode() + b"\n\nHello", name, SENDER))
    spool.close()
    spool = MailSpool(tmp_path / "mail.sqlite", 100)
    mail = SiteMail(spool, MailRelay(inbox.url), SENDER, write_log)
    running = asyncio.create_task(mail.run())

    async def was_tried() -> bool | None:
        waiting = spool.get(1)
        return (waiting is not None and waiting.attempts > 0) or None

    async def is_empty() -> bool | None:
        return (spool.get(1) is None and spool.get(2) is None) or None

    await until(was_tried, 30)
    inbox.answers = ["451 busy", "554 spam"]
    inbox.start()
    try:
        envelope = await inbox.next()
        await until(is_empty, 30)
    finally:
        running.cancel()
        await asyncio.wait({running})
        inbox.stop()
    assert envelope.mail_from in {"bounces+env_a@platform.example", "bounces+env_b@platform.example"}
    assert [text for _, text in log] == ["mail: not sent: the relay refused the message (554)"]
    assert spool.due() == {}
    spool.close()


def test_the_spool_is_bounded_and_gives_up_after_a_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("stead.node.wordpress.mail_spool.MAX_WAITING", 3)
    monkeypatch.setattr("stead.node.wordpress.mail_spool.MAX_ALL_BYTES", 2000)
    spool = MailSpool(tmp_path / "mail.sqlite", 100)
    small, large = OutgoingMail(("a@example.com",), b"x" * 10), OutgoingMail(("a@example.com",), b"x" * 1980)
    for _ in range(3):
        spool.add("env_a", small)
    with pytest.raises(MailRefused, match="of the site"):
        spool.add("env_a", small)
    with pytest.raises(MailRefused, match="wait for the relay"):
        spool.add("env_b", large)
    waiting = spool.get(1)
    assert waiting is not None
    assert spool.postpone(waiting)
    assert spool.due() == {"env_a": 2}
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now + KEPT_SECONDS + 60)
    assert not spool.postpone(waiting)
    spool.forget("env_a")
    assert spool.due() == {}
    spool.close()


@pytest.mark.parametrize(
    "raw",
    [
        b"Subject: nobody\n\nx",
        b"To: a@example.com\nTo: b@example.com\n\nx",
        b"To: a@example.com\nFrom: a@x.example\nfrom: b@x.example\n\nx",
        b"To: a@example.com\nSubject: a\rBcc: b@example.com\n\nx",
        b"To: a@example.com\nSubject: a\0b\n\nx",
        b"To: a@example.com\nno header\n\nx",
        b"To: a@example.com\nBad name: x\n\nx",
        b"To: not an address\n\nx",
        b"To: a@example.com>\nSubject: \n\n" + b"\r",
        b"To: a@[127.0.0.1]\n\nx",
        b"To: a@example.com\nSubject: " + b"x" * 1000 + b"\n\nx",
        b"To: " + b", ".join(b"a%d@example.com" % number for number in range(MAX_RECIPIENTS + 1)) + b"\n\nx",
        b"",
        b"To: " + b"(" * 900 + b"\n\nx",
        b"To: " + b"a:;\n " * 1000 + b"a@example.com\n\nx",
        b"To: root@localhost\n\nx",
        b"To: root@127.0.0.1\n\nx",
        b"To: a@example.com\n\n" + b"\n" * (MAX_LINES + 1),
        b"To: a@example.com\nFrom: a@x.example, b@x.example\n\nx",
        b"To: a@example.com\nFrom: security@platform.example <a@x.example>\n\nx",
        b"To: a@example.com\nFrom: <security@platform.example> <a@x.example>\n\nx",
        b"To: a@example.com\nFrom: a@x.example)security@platform.example\n\nx",
        b"To: a@example.com\nFrom: =?utf-8?b?c2VjdXJpdHlAcGxhdGZvcm0uZXhhbXBsZQ==?=@x.example\n\nx",
        b"To: a@example.com\nFrom: nobody\n\nx",
        b"To: a@example.com\nSender: a@x.example, b@x.example\n\nx",
    ],
)
def test_a_malformed_message_is_refused(raw: bytes):
    with pytest.raises(MailRefused):
        prepare(raw, "env_a", SENDER)


@pytest.mark.parametrize(
    "address", ["security@platform.example", "a@Mail.platform.example", "a@b.example.com"]
)
def test_a_site_does_not_write_in_the_name_of_the_operator(address: str):
    sender = "bounces@b.b.example.com" if address.endswith(".com") else SENDER
    raw = f"To: a@example.com\nFrom: Your Host\n <{address}>\nSender: {address}\n\nx"
    message = message_from_bytes(prepare(raw.encode(), "env_a", sender).content)
    assert message.get_all("From") == [sender]
    assert message.get_all("Reply-To") == [address]
    assert message["Sender"] is None


@pytest.mark.parametrize(
    "value",
    [
        "WordPress <wordpress@shop.example>",
        "wordpress@www.shop.example",
        '"Shop, Inc. <best>" <a@shop.example>',
        "=?UTF-8?B?R3LDvMOfZQ==?= <a@shop.example>",
        "<a@notplatform.example>",
    ],
)
def test_a_site_writes_in_its_own_name(value: str):
    raw = f"To: a@example.com\nFrom: {value}\nReply-To: b@shop.example\n\nx"
    message = message_from_bytes(prepare(raw.encode(), "env_a", SENDER).content)
    assert message.get_all("From") == [value]
    assert message.get_all("Reply-To") == ["b@shop.example"]


def test_a_site_does_not_write_what_only_mail_servers_know():
    names = ("DKIM-Signature", "Authentication-Results", "ARC-Seal", "Received", "Resent-From")
    raw = "".join(f"{name}: x\n" for name in names) + "To: a@example.com\nX-Mailer: y\n\nx"
    message = message_from_bytes(prepare(raw.encode(), "env_a", SENDER).content)
    assert [name for name in names if name in message] == []
    assert message["X-Mailer"] == "y"


def test_a_message_is_completed_and_keeps_its_folded_headers():
    raw = b"To: A <a@example.com>,\n b@example.com\nSubject: =?UTF-8?Q?a?=\n =?UTF-8?Q?b?=\n\nline\n\nline"
    mail = prepare(raw, "env_a", SENDER)
    assert mail.recipients == ("a@example.com", "b@example.com")
    assert b"\r\n =?UTF-8?Q?b?=\r\n" in mail.content
    assert b"\r\nFrom: bounces@platform.example\r\n" in mail.content
    assert mail.content.endswith(b"\r\n\r\nline\r\n\r\nline")
