"""Messages of sites that wait for the relay, in a table that survives every restart. It is bounded for each
site and for the node."""

import time
from pathlib import Path

import msgspec
from msgspec import Struct

from stead.node.sqlite import open_database, transaction
from stead.node.wordpress.mail_message import MailRefused, OutgoingMail

HOUR = 3600.0
MAX_WAITING, MAX_WAITING_BYTES = 200, 50 << 20
"""Of one site."""
MAX_ALL_BYTES = 1 << 30
MAX_BYTES_WHEN_CROWDED = 5 << 20
"""Of one site, when half of the room for all is used: a customer with many sites does not fill it."""
KEPT_SECONDS = 24 * HOUR
FIRST_PAUSE, LONGEST_PAUSE = 60.0, HOUR

_TABLES = """
create table if not exists mails (
    id integer primary key autoincrement,
    environment text not null,
    recipients blob not null,
    content blob not null,
    accepted_at real not null,
    attempts integer not null default 0,
    not_before real not null default 0
) strict;
create index if not exists mails_of_environment on mails (environment, not_before);
create table if not exists accepted (
    environment text not null,
    at real not null,
    recipients integer not null
) strict;
create index if not exists accepted_of_environment on accepted (environment, at);
"""


class WaitingMail(Struct, frozen=True):
    id: int
    environment: str
    recipients: tuple[str, ...]
    content: bytes
    accepted_at: float
    attempts: int


class MailSpool:
    """All methods block; call them from a thread, one at a time."""

    def __init__(self, file: Path, per_hour: int) -> None:
        self._per_hour = per_hour
        self._database = open_database(file, check_same_thread=False)
        self._database.execute("pragma secure_delete = on")
        self._database.executescript(_TABLES)

    def close(self) -> None:
        self._database.close()

    def add(self, environment: str, mail: OutgoingMail) -> None:
        """Raises MailRefused if the site has sent too much."""
        now = time.time()
        with transaction(self._database):
            self._database.execute("delete from accepted where at < ?", (now - HOUR,))
            self._check(environment, len(mail.recipients), len(mail.content))
            self._database.execute(
                "insert into mails (environment, recipients, content, accepted_at) values (?, ?, ?, ?)",
                (environment, msgspec.json.encode(mail.recipients), mail.content, now),
            )
            self._database.execute(
                "insert into accepted values (?, ?, ?)", (environment, now, len(mail.recipients))
            )

    def check(self, environment: str) -> None:
        """Raises MailRefused if no message of the site can be accepted now, however small it is."""
        self._check(environment, 1, 0)

    def _check(self, environment: str, recipients: int, size: int) -> None:
        sent = self._number(
            "select sum(recipients) from accepted where environment = ? and at >= ?",
            *(environment, time.time() - HOUR),
        )
        if sent + recipients > self._per_hour:
            raise MailRefused(f"the site has sent to {self._per_hour} recipients within an hour")
        waiting = self._number("select count(*) from mails where environment = ?", environment)
        own = self._number("select sum(length(content)) from mails where environment = ?", environment) + size
        total = self._number("select sum(length(content)) from mails") + size
        allowed = MAX_WAITING_BYTES if total <= MAX_ALL_BYTES // 2 else MAX_BYTES_WHEN_CROWDED
        if waiting >= MAX_WAITING or own > allowed:
            raise MailRefused("too many messages of the site wait for the relay")
        if total > MAX_ALL_BYTES:
            raise MailRefused("too many messages wait for the relay")

    def due(self) -> dict[str, int]:
        """The first message that is due of each environment."""
        rows = self._database.execute(
            "select environment, min(id) from mails where not_before <= ? group by environment",
            (time.time(),),
        )
        return dict(rows.fetchall())

    def get(self, number: int) -> WaitingMail | None:
        row = self._database.execute(
            "select id, environment, recipients, content, accepted_at, attempts from mails where id = ?",
            (number,),
        ).fetchone()
        if row is None:
            return None
        _, environment, recipients, content, accepted_at, attempts = row
        addresses = msgspec.json.decode(recipients, type=tuple[str, ...])
        return WaitingMail(number, environment, addresses, content, accepted_at, attempts)

    def remove(self, number: int) -> None:
        self._database.execute("delete from mails where id = ?", (number,))

    def begin(self, number: int) -> WaitingMail | None:
        """The message, which is tried now. This is recorded first: if the outcome cannot be recorded, the
        message is not repeated at once."""
        with transaction(self._database):
            mail = self.get(number)
            if mail is not None:
                self._database.execute(
                    "update mails set attempts = attempts + 1, not_before = ? where id = ?",
                    (time.time() + _pause(mail), number),
                )
        return mail

    def postpone(self, mail: WaitingMail) -> bool:
        """Try it again later, for the recipients that it has now. Returns False if there are none, or if it
        has waited for too long; then it is removed."""
        if not mail.recipients or time.time() - mail.accepted_at > KEPT_SECONDS:
            self.remove(mail.id)
            return False
        self._database.execute(
            "update mails set recipients = ?, not_before = ? where id = ?",
            (msgspec.json.encode(mail.recipients), time.time() + _pause(mail), mail.id),
        )
        return True

    def forget(self, environment: str) -> None:
        for table in ("mails", "accepted"):
            self._database.execute(f"delete from {table} where environment = ?", (environment,))  # noqa: S608

    def _number(self, query: str, *parameters: str | float) -> int:
        return int(self._database.execute(query, parameters).fetchone()[0] or 0)


def _pause(mail: WaitingMail) -> float:
    return min(FIRST_PAUSE * 2.0**mail.attempts, LONGEST_PAUSE)
