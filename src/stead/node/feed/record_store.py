"""The node's own copy of its region's records, with the position up to which it has them.

A batch and its position commit together. Nothing here is the only copy: what a power cut takes of the last
moments takes their position too, and they are read again. A record that is gone stays as a row without a
value until nginx has been told.

`change` numbers what is to be told to nginx, in order; unlike a revision it also counts what no message said,
such as a purge that has grown old.
"""

import sqlite3
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import structlog
from msgspec import Struct

from stead.node.sqlite import transaction
from stead.protocol.edge_records import DELETIONS_KEPT_SECONDS, PURGES_KEPT_SECONDS, EnvironmentRecord

log = structlog.get_logger()

_SCHEMA = """
create table records (
    key text primary key,
    revision integer not null,
    at integer not null,
    value blob,
    change integer not null,
    confirmed integer not null default 1
) strict, without rowid;
create unique index records_in_order on records (change);
create index records_gone on records (change) where value is null;
create table progress (
    history text not null,
    position integer not null,
    at integer not null,
    change integer not null,
    confirming integer not null
) strict;
insert into progress values ('', 0, 0, 0, 0);
"""
_VERSION = 1
_SECOND = 1_000_000_000
_PATIENCE = 5.0
_environments = msgspec.json.Decoder(EnvironmentRecord)


class RecordChange(Struct, frozen=True):
    """A record as NATS delivered it; without a value it is gone. `at` is in nanoseconds, by NATS's clock."""

    key: str
    revision: int
    at: int
    value: bytes | None


class StoredRecord(Struct, frozen=True):
    key: str
    revision: int
    value: bytes | None


class PendingRecords(Struct, frozen=True):
    """What follows a change number, and how far the store was when this was read."""

    records: list[StoredRecord]
    change: int
    position: int
    whole: bool
    """There was nothing more to tell."""
    settled: bool
    """The store has been at the end of its history: what it does not know is not there."""


class StoreProgress(Struct, frozen=True):
    history: str
    position: int
    at: int


class RecordStore:
    def __init__(self, path: Path) -> None:
        try:
            self._database = _opened(path)
        except sqlite3.DatabaseError as error:
            # It is a copy; a new one is a snapshot away.
            log.warning("store.discarded", error=type(error).__name__)
            for each in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
                each.unlink(missing_ok=True)
            self._database = _opened(path)

    def close(self) -> None:
        self._database.close()

    @property
    def progress(self) -> StoreProgress:
        return StoreProgress(*self._database.execute("select history, position, at from progress").fetchone())

    def outdated(self, *, now: float | None = None) -> bool:
        """Deletions may have come and gone since it was last told anything."""
        since = (time.time() if now is None else now) - DELETIONS_KEPT_SECONDS / 2
        return 0 < self.progress.at < since * _SECOND

    def begin(self, history: str) -> None:
        """Another history, to be read from its beginning. What it does not confirm is gone at its end."""
        with transaction(self._database):
            self._database.execute("update records set confirmed = 0")
            self._database.execute(
                "update progress set history = ?, position = 0, at = 0, confirming = 1", (history,)
            )

    def take(self, changes: Sequence[RecordChange], *, last: bool) -> None:
        """All of them and the new position, or nothing. `last` when the server had no more."""
        with transaction(self._database):
            change, confirming = self._database.execute("select change, confirming from progress").fetchone()
            self._database.executemany(
                "insert into records (key, revision, at, value, change) values (?, ?, ?, ?, ?)"
                " on conflict do update set revision = excluded.revision, at = excluded.at,"
                " value = excluded.value, change = excluded.change, confirmed = 1",
                [
                    (it.key, it.revision, it.at, it.value, number)
                    for number, it in enumerate(changes, change + 1)
                ],
            )
            self._database.execute("update progress set change = ?", (change + len(changes),))
            if changes:
                newest = changes[-1]
                self._database.execute(
                    "update progress set position = ?, at = ?", (newest.revision, newest.at)
                )
            if last and confirming:
                self._remove("confirmed = 0")
                self._database.execute("update progress set confirming = 0")

    def after(self, change: int, limit: int, most_bytes: int) -> PendingRecords:
        position, settled = self._database.execute(
            "select position, history <> '' and not confirming from progress"
        ).fetchone()
        records: list[StoredRecord] = []
        rows = self._database.execute(
            "select key, revision, value, change from records where change > ? order by change", (change,)
        )
        for key, revision, value, number in rows:
            if len(records) == limit or most_bytes <= 0:
                return PendingRecords(records, change, position, whole=False, settled=bool(settled))
            records.append(StoredRecord(key, revision, value))
            change, most_bytes = number, most_bytes - len(value or b"")
        return PendingRecords(records, change, position, whole=True, settled=bool(settled))

    def told(self, change: int) -> None:
        """nginx knows everything up to this. One that does not is a new one, and never knew what is gone."""
        self._database.execute("delete from records where value is null and change <= ?", (change,))

    def expire_purges(self, *, now: float | None = None) -> int:
        """Removes those that the bucket has let go; how many. No message says so."""
        before = int(((time.time() if now is None else now) - PURGES_KEPT_SECONDS) * _SECOND)
        with transaction(self._database):
            return self._remove("key like '%.purge.%' and at < ?", before)

    def find(self, key: str) -> StoredRecord | None:
        row = self._database.execute(
            "select key, revision, value from records where key = ? and value is not null", (key,)
        ).fetchone()
        return None if row is None else StoredRecord(*row)

    def below(self, prefix: str) -> list[StoredRecord]:
        """Of the keys that begin so. `/` is the character after the dot that ends a prefix."""
        if not prefix.endswith("."):
            raise ValueError("a prefix is whole words")
        rows = self._database.execute(
            "select key, revision, value from records where key > ? and key < ? and value is not null",
            (prefix, prefix[:-1] + "/"),
        )
        return [StoredRecord(*row) for row in rows]

    def _remove(self, which: str, *parameters: int) -> int:
        keys = self._database.execute(
            f"select key from records where value is not null and {which}",  # noqa: S608
            parameters,
        ).fetchall()
        (change,) = self._database.execute("select change from progress").fetchone()
        self._database.executemany(
            "update records set value = null, change = ?,"
            # Above its own: nginx heeds only what is newer than what it has.
            " revision = max(revision + 1, (select position from progress)) where key = ?",
            [(number, key) for number, (key,) in enumerate(keys, change + 1)],
        )
        self._database.execute("update progress set change = ?", (change + len(keys),))
        return len(keys)


def referenced_releases(path: Path) -> set[str] | None:
    """Every release that a record names; None when that cannot be said: the store is not whole, or not
    there. From any thread, beside whoever has it open."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_PATIENCE)) as database:
            (whole,) = database.execute("select history <> '' and not confirming from progress").fetchone()
            rows = database.execute(
                "select value from records where key like '%.environment.%' and value is not null"
            ).fetchall()
        return {_environments.decode(value).release for (value,) in rows} if whole else None
    except (sqlite3.Error, msgspec.MsgspecError):
        return None


def _opened(path: Path) -> sqlite3.Connection:
    # Before SQLite does: its other files take the mode of this one.
    path.touch(mode=0o600)
    path.chmod(0o600)
    database = sqlite3.connect(path, isolation_level=None)
    try:
        database.execute("pragma journal_mode = wal")
        database.execute("pragma synchronous = normal")
        if database.execute("pragma user_version").fetchone() != (_VERSION,):
            database.executescript(f"begin; {_SCHEMA} pragma user_version = {_VERSION}; commit;")
        if database.execute("pragma quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("damaged")  # noqa: TRY301
    except BaseException:
        database.close()
        raise
    return database
