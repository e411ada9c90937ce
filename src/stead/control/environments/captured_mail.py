"""Mail that copies of production tried to send. It is sealed, and limited in number and age."""

from datetime import UTC, datetime, timedelta

import msgspec
from msgspec import Struct

from stead.control.engines.postgres import Tx
from stead.control.environments import captured_mail_store as store
from stead.control.environments.rules import VisibleEnvironment
from stead.control.environments.schema import MailView
from stead.control.http.pagination import Page, PageRequest
from stead.control.sealing import SealBroken, Sealer
from stead.protocol.commands import CapturedMail, MailReport
from stead.shared.ids import new_id

KEPT = 100
"""Of each environment."""
MAX_AGE = timedelta(days=14)
BATCH_SIZE = 500
MAX_REPORTED = 100
MAX_TEXT, MAX_LINE, MAX_RECIPIENTS = 32_768, 1000, 50
"""Nodes keep to these limits, too."""


class _Content(Struct, frozen=True):
    sender: str
    recipients: tuple[str, ...]
    subject: str
    text: str
    size: int


def context(mail: str) -> bytes:
    return f"captured_mail:{mail}".encode()


async def record(tx: Tx, sealer: Sealer, report: MailReport) -> None:
    """Record what is new. A node can report only for copies that it hosts."""
    reported = report.mails[:MAX_REPORTED]
    wanted = await store.list_unknown(tx, report.node, [(mail.environment, mail.key) for mail in reported])
    for mail in sorted(reported, key=lambda each: each.captured_at):
        if (mail.environment, mail.key) in wanted:
            await _insert(tx, sealer, mail)
    for environment in sorted({environment for environment, _ in wanted}):
        await store.remove_surplus(tx, environment, KEPT)


async def _insert(tx: Tx, sealer: Sealer, mail: CapturedMail) -> None:
    identifier = new_id("mail")
    content = _Content(
        mail.sender[:MAX_LINE],
        tuple(each[:MAX_LINE] for each in mail.recipients[:MAX_RECIPIENTS]),
        mail.subject[:MAX_LINE],
        mail.text[:MAX_TEXT],
        mail.size,
    )
    sealed = sealer.seal(msgspec.json.encode(content), context=context(identifier))
    captured_at = min(datetime.fromtimestamp(mail.captured_at, UTC), tx.now)
    await store.insert(tx, identifier, mail.environment, mail.key, captured_at, sealed)


async def browse(tx: Tx, sealer: Sealer, env: VisibleEnvironment, page: PageRequest) -> Page[MailView]:
    found = await store.page(tx, env.id, page)
    return Page([_view(sealer, row) for row in found.items], found.next_cursor)


def _view(sealer: Sealer, row: store.MailRow) -> MailView:
    try:
        content = msgspec.json.decode(sealer.open(row.content, context=context(row.id)), type=_Content)
    except SealBroken:
        content = _Content("", (), "(This message cannot be read any more.)", "", 0)
    return MailView(
        row.id,
        row.captured_at,
        content.sender,
        list(content.recipients),
        content.subject,
        content.text,
        content.size,
    )


async def forget(tx: Tx, env: str) -> None:
    await store.remove_surplus(tx, env, 0)


async def remove_old(tx: Tx) -> int:
    return await store.remove_older(tx, tx.now - MAX_AGE, BATCH_SIZE)
