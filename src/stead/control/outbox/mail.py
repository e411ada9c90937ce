"""The email outbox. An email is stored in the transaction of the change it reports, then sent until it is
accepted.

Stored emails are encrypted: an invite contains a token that is otherwise stored only as a hash.
"""

from datetime import timedelta
from email.message import EmailMessage
from email.utils import format_datetime

import msgspec
import structlog

from stead.control.engines.postgres import Database, Tx
from stead.control.engines.smtp import SmtpServer
from stead.control.sealing import Sealer
from stead.shared.ids import new_id

log = structlog.get_logger()

FIRST_RETRY_DELAY = timedelta(seconds=30)
"""The delay doubles after every attempt."""
MAX_ATTEMPTS = 12
"""About a day and a half in total."""


class Email(msgspec.Struct):
    """The stored form of an email. Fields may be added, never renamed: stored emails outlive an upgrade."""

    to: str
    subject: str
    text: str
    html: str = ""
    unsubscribe: str = ""
    """The URL for one-click unsubscribing (RFC 8058)."""


def one_line(text: str) -> str:
    """Replace line breaks, so that the text is safe in a header."""
    return " ".join(text.split())


async def enqueue_email(tx: Tx, sealer: Sealer, email: Email) -> None:
    id_ = new_id("mail")
    await tx.run(
        "insert into outgoing_mail (id, sealed, next_attempt_at, created_at) values ($1, $2, $3, $3)",
        id_,
        sealer.seal(msgspec.msgpack.encode(email), context=id_.encode()),
        tx.now,
    )


class MailSender:
    """Sends queued emails. Without an SMTP server they are dropped, and each one is logged."""

    def __init__(self, database: Database, sealer: Sealer, *, smtp_url: str, sender: str) -> None:
        self._database, self._sealer, self._sender = database, sealer, sender
        self._server = SmtpServer(smtp_url) if smtp_url else None

    async def send_due(self) -> int:
        """Try every email that is due, each in a transaction of its own. Return how many were tried."""
        tried = 0
        while await self._send_next():
            tried += 1
        return tried

    async def _send_next(self) -> bool:
        async with self._database.transaction() as tx:
            due = await tx.one(
                lambda *row: row,
                "select id, sealed, attempts from outgoing_mail where next_attempt_at <= $1"
                " order by next_attempt_at limit 1 for update skip locked",
                tx.now,
            )
            if due is None:
                return False
            id_, sealed, attempts = due
            email = msgspec.msgpack.decode(self._sealer.open(sealed, context=id_.encode()), type=Email)
            failure = await self._send(id_, email, format_datetime(tx.now))
            if failure is None or attempts + 1 >= MAX_ATTEMPTS or self._server is None:
                await tx.run("delete from outgoing_mail where id = $1", id_)
            else:
                delay = FIRST_RETRY_DELAY * 2**attempts
                await tx.run(
                    "update outgoing_mail set attempts = attempts + 1, next_attempt_at = $2 where id = $1",
                    id_,
                    tx.now + delay,
                )
        if failure is not None:
            log.warning("mail.failed", mail_id=id_, attempt=attempts + 1, reason=failure)
        return True

    async def _send(self, id_: str, email: Email, date: str) -> str | None:
        """Return None if the server accepted the email, otherwise the kind of failure."""
        if self._server is None:
            return "no SMTP server is set"
        try:
            await self._server.send(self._message(id_, email, date), email.to)
        except Exception as error:  # noqa: BLE001 - one bad email must not block the others
            return type(error).__name__
        return None

    def _message(self, id_: str, email: Email, date: str) -> EmailMessage:
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = self._sender, email.to, email.subject
        message["Date"], message["Message-ID"] = date, f"<{id_}@{self._sender.rpartition('@')[2]}>"
        message.set_content(email.text)
        if email.html:
            message.add_alternative(email.html, subtype="html")
        if email.unsubscribe:
            message["List-Unsubscribe"] = f"<{email.unsubscribe}>"
            message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        return message
