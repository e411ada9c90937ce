"""The email outbox. An email is stored in the transaction of the change it reports, then sent until it is
accepted.

Stored emails are encrypted: an invite contains a token that is otherwise stored only as a hash.
"""

import asyncio
from dataclasses import dataclass
from datetime import timedelta
from email.message import EmailMessage
from email.utils import format_datetime

import msgspec
import structlog

from stead.control import metrics
from stead.control.engines.postgres import DATABASE_FAILED, Database, Tx
from stead.control.engines.smtp import SmtpServer
from stead.control.sealing import Sealer
from stead.shared.ids import new_id

log = structlog.get_logger()

FIRST_RETRY_DELAY = timedelta(seconds=30)
"""The delay doubles after every attempt."""
CLAIMED_FOR = timedelta(minutes=15)
"""Longer than an email takes at most (`SEND_SECONDS`): while its worker lives, it is not sent twice."""
RECORD_AGAIN_SECONDS = (0.5, 1, 2, 4, 8, 16, 30, 60, 60, 60)
SENT_AT_ONCE = 4
INTERVAL_SECONDS = 1.0
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


async def measure(tx: Tx) -> None:
    """Set the metrics of the outbox."""
    found = await tx.one(
        lambda *row: row,
        "select count(*), coalesce(extract(epoch from $1 - min(created_at)), 0)::float from outgoing_mail",
        tx.now,
    )
    waiting, oldest = found or (0, 0.0)
    metrics.mail_waiting.set(waiting)
    metrics.mail_oldest.set(max(oldest, 0.0))


@dataclass(frozen=True, slots=True)
class _ClaimedEmail:
    id: str
    sealed: bytes
    attempts: int
    """Including the one that it was claimed for."""


class MailSender:
    """Sends queued emails. Without an SMTP server they are dropped, and each one is logged.

    An email is claimed in one transaction, sent outside of any, and removed in another. If the worker dies
    in between, another one claims it when the claim has expired.
    """

    def __init__(self, database: Database, sealer: Sealer, *, smtp_url: str, sender: str) -> None:
        self._database, self._sealer, self._sender = database, sealer, sender
        self._server = SmtpServer(smtp_url) if smtp_url else None

    async def run(self) -> None:
        """Send every email soon after it is due. A slow email occupies one of a few slots."""
        async with asyncio.TaskGroup() as slots:
            for _ in range(SENT_AT_ONCE):
                slots.create_task(self._run_slot())

    async def _run_slot(self) -> None:
        while True:
            try:
                await self.send_due()
            except DATABASE_FAILED as error:
                log.warning("mail.postponed", reason=type(error).__name__)
            await asyncio.sleep(INTERVAL_SECONDS)

    async def send_due(self) -> int:
        """Try every email that is due, one after the other. Return how many were tried."""
        tried = 0
        while (email := await self._claim()) is not None:
            failure = await self._send(email)
            await self._record_repeatedly(email, failure)
            tried += 1
        return tried

    async def _record_repeatedly(self, email: _ClaimedEmail, failure: str | None) -> None:
        """Try for a while to record the outcome: what is not recorded is sent again."""
        for seconds in RECORD_AGAIN_SECONDS:
            try:
                await self._record(email, failure)
            except DATABASE_FAILED as error:
                log.warning("mail.not_recorded", mail_id=email.id, reason=type(error).__name__)
                await asyncio.sleep(seconds)
            else:
                return
        await self._record(email, failure)

    async def _claim(self) -> _ClaimedEmail | None:
        async with self._database.transaction() as tx:
            return await tx.one(
                _ClaimedEmail,
                "update outgoing_mail set attempts = attempts + 1, next_attempt_at = $2 where id ="
                " (select id from outgoing_mail where next_attempt_at <= $1"
                " order by next_attempt_at limit 1 for update skip locked)"
                " returning id, sealed, attempts",
                tx.now,
                tx.now + CLAIMED_FOR,
            )

    async def _record(self, email: _ClaimedEmail, failure: str | None) -> None:
        """Remove the email, or plan the next attempt unless another worker has claimed it by now."""
        if failure is not None:
            log.warning("mail.failed", mail_id=email.id, attempt=email.attempts, reason=failure)
        ends = failure is None or email.attempts >= MAX_ATTEMPTS or self._server is None
        async with self._database.transaction() as tx:
            if ends:
                await tx.run("delete from outgoing_mail where id = $1", email.id)
            else:
                await tx.run(
                    "update outgoing_mail set next_attempt_at = $3 where id = $1 and attempts = $2",
                    email.id,
                    email.attempts,
                    tx.now + FIRST_RETRY_DELAY * 2 ** (email.attempts - 1),
                )
        outcome = "sent" if failure is None else "dropped" if ends else "failed"
        metrics.mail_attempts.labels(outcome).inc()

    async def _send(self, claimed: _ClaimedEmail) -> str | None:
        """Return None if the server accepted the email, otherwise the kind of failure."""
        if self._server is None:
            return "no SMTP server is set"
        try:
            content = self._sealer.open(claimed.sealed, context=claimed.id.encode())
            email = msgspec.msgpack.decode(content, type=Email)
            await self._server.send(self._message(claimed.id, email), email.to)
        except Exception as error:  # noqa: BLE001 - one bad email must not block the others
            return type(error).__name__
        return None

    def _message(self, id_: str, email: Email) -> EmailMessage:
        message = EmailMessage()
        message["From"], message["To"], message["Subject"] = self._sender, email.to, email.subject
        message["Date"] = format_datetime(self._database.now())
        message["Message-ID"] = f"<{id_}@{self._sender.rpartition('@')[2]}>"
        message.set_content(email.text)
        if email.html:
            message.add_alternative(email.html, subtype="html")
        if email.unsubscribe:
            message["List-Unsubscribe"] = f"<{email.unsubscribe}>"
            message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
        return message
