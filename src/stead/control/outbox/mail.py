"""Mail as an outbox: a letter commits with what it tells of, and is sent, and sent again, after that.

Letters are sealed while they wait: an invite's holds a token that is otherwise stored only as a hash.
"""

from datetime import timedelta
from email.message import EmailMessage
from email.utils import format_datetime
from urllib.parse import unquote, urlsplit

import aiosmtplib
import msgspec
import structlog

from stead.control.engines.postgres import Database, Tx
from stead.control.sealing import Sealer
from stead.shared.ids import new_id

log = structlog.get_logger()

FIRST_RETRY = timedelta(seconds=30)
GIVE_UP_AFTER = 12
"""Attempts. The pause doubles each time: about a day and a half in all."""

SMTP_SECONDS = 15


class Letter(msgspec.Struct):
    to: str
    subject: str
    text: str
    html: str = ""
    unsubscribe: str = ""
    """Where a mail program may post that no more like this are wanted (RFC 8058)."""


def one_line(text: str) -> str:
    """Text that may stand in a header."""
    return " ".join(text.split())


async def post(tx: Tx, sealer: Sealer, letter: Letter) -> None:
    id_ = new_id("mail")
    await tx.run(
        "insert into outgoing_mail (id, sealed, next_attempt_at, created_at) values ($1, $2, $3, $3)",
        id_,
        sealer.seal(msgspec.msgpack.encode(letter), context=id_.encode()),
        tx.now,
    )


class Postman:
    """Delivers what waits. Without an SMTP server, letters are dropped as undeliverable, and it is said."""

    def __init__(self, database: Database, sealer: Sealer, *, smtp_url: str, sender: str) -> None:
        self._database, self._sealer, self._sender = database, sealer, sender
        self._server = urlsplit(smtp_url) if smtp_url else None

    async def deliver(self) -> int:
        """Send what is due, one letter a transaction, and say how many left."""
        sent = 0
        while await self._deliver_next():
            sent += 1
        return sent

    async def _deliver_next(self) -> bool:
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
            letter = msgspec.msgpack.decode(self._sealer.open(sealed, context=id_.encode()), type=Letter)
            failure = await self._send(id_, letter, format_datetime(tx.now))
            if failure is None or attempts + 1 >= GIVE_UP_AFTER or self._server is None:
                await tx.run("delete from outgoing_mail where id = $1", id_)
            else:
                pause = FIRST_RETRY * 2**attempts
                await tx.run(
                    "update outgoing_mail set attempts = attempts + 1, next_attempt_at = $2 where id = $1",
                    id_,
                    tx.now + pause,
                )
        if failure is not None:
            log.warning("mail.failed", mail_id=id_, attempt=attempts + 1, reason=failure)
        return True

    async def _send(self, id_: str, letter: Letter, date: str) -> str | None:
        """None when it was taken, else the kind of failure."""
        if self._server is None:
            return "no SMTP server is set"
        server = self._server
        try:
            message = EmailMessage()
            message["From"], message["To"], message["Subject"] = self._sender, letter.to, letter.subject
            message["Date"], message["Message-ID"] = date, f"<{id_}@{self._sender.rpartition('@')[2]}>"
            message.set_content(letter.text)
            if letter.html:
                message.add_alternative(letter.html, subtype="html")
            if letter.unsubscribe:
                message["List-Unsubscribe"] = f"<{letter.unsubscribe}>"
                message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
            await aiosmtplib.send(
                message,
                recipients=[letter.to],
                hostname=server.hostname,
                port=server.port,
                username=unquote(server.username) if server.username else None,
                password=unquote(server.password) if server.password else None,
                use_tls=server.scheme == "smtps",
                timeout=SMTP_SECONDS,
            )
        except Exception as error:  # noqa: BLE001 - no letter may keep the others waiting
            return type(error).__name__
        return None
