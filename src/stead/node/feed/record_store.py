"""The node's copy of its region's edge records, and the position in their history that it has reached.

A batch of records and its position commit together. This is never the only copy: if a power cut loses the
latest batches, it loses their position too, and they are read again. A deleted record stays as a row without
a value until nginx knows about it.

`change` numbers the changes for nginx, in order. Unlike a revision, it also counts changes without a message,
such as an expired purge.
"""

import sqlite3
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from pathlib import Path

import msgspec
import structlog
from msgspec import Struct

from stead.node.sqlite import transaction
from stead.protocol.edge_records import (
    DELETIONS_KEPT_SECONDS,
    PURGES_KEPT_SECONDS,
    EnvironmentRecord,
    HostRecord,
    PeerRecord,
    RecordKind,
    environment_key,
    host_key,
    name_of_wildcard,
    purge_keys_of,
)

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
_LOCK_SECONDS = 5.0


def _has_kind(kind: RecordKind) -> str:
    """A condition on keys. Only the second word is the kind: a host may have any word in its name."""
    return f"substr(key, instr(key, '.') + 1) like '{kind}.%'"


_NOT_REPEATED = f"not {_has_kind('purge')} and not {_has_kind('node')}"
"""A new history need not repeat purges and addresses of edges, so they are kept. Purges expire by
themselves; without them, the pages that they removed would be served from caches again."""
_environments = msgspec.json.Decoder(EnvironmentRecord)
_hosts = msgspec.json.Decoder(HostRecord)
_peers = msgspec.json.Decoder(PeerRecord)


class RecordChange(Struct, frozen=True):
    """A record as NATS delivered it; without a value it was deleted. `at` is in nanoseconds, by the clock of
    NATS."""

    key: str
    revision: int
    at: int
    value: bytes | None


class StoredRecord(Struct, frozen=True):
    key: str
    revision: int
    value: bytes | None


class PendingRecords(Struct, frozen=True):
    """The records after a change number, and the state of the store when they were read."""

    records: list[StoredRecord]
    change: int
    position: int
    complete: bool
    """There are no further records."""
    caught_up: bool
    """The store has reached the end of its history, so an unknown record does not exist."""


class StoreProgress(Struct, frozen=True):
    history: str
    position: int
    at: int


class RecordStore:
    def __init__(self, path: Path) -> None:
        try:
            self._database = _open_database(path)
        except sqlite3.DatabaseError as error:
            # It is only a copy: a new one is read from NATS.
            log.warning("store.discarded", error=type(error).__name__)
            for file in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
                file.unlink(missing_ok=True)
            self._database = _open_database(path)

    def close(self) -> None:
        self._database.close()

    @property
    def last_change(self) -> int:
        (change,) = self._database.execute("select change from progress").fetchone()
        return int(change)

    @property
    def progress(self) -> StoreProgress:
        return StoreProgress(*self._database.execute("select history, position, at from progress").fetchone())

    def is_outdated(self, *, now: float | None = None) -> bool:
        """Whether NATS may have dropped deletions that this store has not seen."""
        since = (time.time() if now is None else now) - DELETIONS_KEPT_SECONDS / 2
        return 0 < self.progress.at < since * _SECOND

    def begin_history(self, history: str) -> None:
        """Start to read another history from its beginning. At its end, records that it did not confirm are
        deleted."""
        with transaction(self._database):
            self._database.execute("update records set confirmed = 0")
            self._database.execute(
                "update progress set history = ?, position = 0, at = 0, confirming = 1", (history,)
            )

    def apply(self, changes: Sequence[RecordChange], *, last: bool) -> None:
        """Store the changes and the new position together. `last` says that the server has no more."""
        with transaction(self._database):
            change, confirming = self._database.execute("select change, confirming from progress").fetchone()
            self._database.executemany(
                "insert into records (key, revision, at, value, change) values (?, ?, ?, ?, ?)"
                " on conflict do update set revision = excluded.revision, at = excluded.at,"
                " value = excluded.value, change = excluded.change, confirmed = 1",
                [
                    (record.key, record.revision, record.at, record.value, number)
                    for number, record in enumerate(changes, change + 1)
                ],
            )
            self._database.execute("update progress set change = ?", (change + len(changes),))
            if changes:
                newest = changes[-1]
                self._database.execute(
                    "update progress set position = ?, at = ?", (newest.revision, newest.at)
                )
            if last and confirming:
                self._delete(f"confirmed = 0 and {_NOT_REPEATED}")
                self._database.execute("update progress set confirming = 0")

    def pending_after(self, change: int, limit: int, max_bytes: int) -> PendingRecords:
        """The records after a change number, in order, within the limits."""
        position, caught_up = self._database.execute(
            "select position, history <> '' and not confirming from progress"
        ).fetchone()
        records: list[StoredRecord] = []
        rows = self._database.execute(
            "select key, revision, value, change from records where change > ? order by change", (change,)
        )
        for key, revision, value, number in rows:
            if len(records) == limit or max_bytes <= 0:
                return PendingRecords(records, change, position, complete=False, caught_up=bool(caught_up))
            records.append(StoredRecord(key, revision, value))
            change, max_bytes = number, max_bytes - len(value or b"")
        return PendingRecords(records, change, position, complete=True, caught_up=bool(caught_up))

    def remove_deleted(self, change: int) -> None:
        """Forget deleted records up to this change, which nginx has applied. A new nginx does not need them:
        it never had the records."""
        self._database.execute("delete from records where value is null and change <= ?", (change,))

    def expire_purges(self, *, now: float | None = None) -> int:
        """Delete the purges that have expired in the bucket, and return their number. NATS sends no message
        for them."""
        before = int(((time.time() if now is None else now) - PURGES_KEPT_SECONDS) * _SECOND)
        with transaction(self._database):
            return self._delete(f"{_has_kind('purge')} and at < ?", before)

    def find(self, key: str) -> StoredRecord | None:
        row = self._database.execute(
            "select key, revision, value from records where key = ? and value is not null", (key,)
        ).fetchone()
        return None if row is None else StoredRecord(*row)

    def find_by_prefix(self, prefix: str) -> list[StoredRecord]:
        """The records whose keys begin with the prefix. `/` is the character after `.`, which ends a
        prefix."""
        if not prefix.endswith("."):
            raise ValueError("a prefix must end with a dot")
        rows = self._database.execute(
            "select key, revision, value from records where key > ? and key < ? and value is not null",
            (prefix, prefix[:-1] + "/"),
        )
        return [StoredRecord(*row) for row in rows]

    def _delete(self, condition: str, *parameters: int) -> int:
        keys = self._database.execute(
            f"select key from records where value is not null and {condition}",  # noqa: S608
            parameters,
        ).fetchall()
        (change,) = self._database.execute("select change from progress").fetchone()
        self._database.executemany(
            "update records set value = null, change = ?,"
            # A higher revision than its own: nginx ignores older ones.
            " revision = max(revision + 1, (select position from progress)) where key = ?",
            [(number, key) for number, (key,) in enumerate(keys, change + 1)],
        )
        self._database.execute("update progress set change = ?", (change + len(keys),))
        return len(keys)


def referenced_releases(path: Path) -> set[str] | None:
    """All releases that records name; None when the store is incomplete or missing. May be called from any
    thread, while another connection has the store open."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_LOCK_SECONDS)) as database:
            (complete,) = database.execute("select history <> '' and not confirming from progress").fetchone()
            rows = database.execute(
                f"select value from records where {_has_kind('environment')} and value is not null"  # noqa: S608
            ).fetchall()
            permanent = database.execute(
                f"select value from records where {_has_kind('host')} and value is not null"  # noqa: S608
                " and instr(value, cast('\"release\"' as blob))"
            ).fetchall()
        if not complete:
            return None
        named = {_environments.decode(value).release for (value,) in rows}
        return named | {_hosts.decode(value).release for (value,) in permanent}
    except (sqlite3.Error, msgspec.MsgspecError):
        return None


class HotEnvironment(Struct, frozen=True):
    """An environment whose most visited pages are kept in the cache."""

    pages: int
    interval: int
    purged: int
    """The revision of its last purge; 0 without one."""
    secure_hosts: frozenset[str]


def find_hot_environments(
    path: Path, region: str, visited: Mapping[str, Collection[str]]
) -> dict[str, HotEnvironment] | None:
    """Those of the environments with the setting; None if the store cannot be read. `visited` has the hosts
    of each. May be called from any thread, as above."""
    found: dict[str, HotEnvironment] = {}
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_LOCK_SECONDS)) as database:
            for name, hosts in visited.items():
                value = _find_value(database, environment_key(region, name))
                record = _environments.decode(value) if value else None
                if record is not None and record.hot_pages and record.cache_ttl:
                    purged = _last_purge(database, purge_keys_of(region, name))
                    values = {host: _find_host(database, region, host) for host in hosts}
                    secure = frozenset(
                        host for host, value in values.items() if value and _hosts.decode(value).https
                    )
                    found[name] = HotEnvironment(record.hot_pages, record.hot_interval, purged, secure)
    except (sqlite3.Error, msgspec.MsgspecError, ValueError):
        return None
    return found


def list_suspended(path: Path, region: str, environments: Collection[str]) -> dict[str, float]:
    """Those of the environments that are suspended, and when that was announced, in seconds since 1970. May
    be called from any thread, as above."""
    found: dict[str, float] = {}
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_LOCK_SECONDS)) as database:
            for name in environments:
                row = database.execute(
                    "select value, at from records where key = ? and value is not null",
                    (environment_key(region, name),),
                ).fetchone()
                if row and _environments.decode(row[0]).state == "suspended":
                    found[name] = row[1] / _SECOND
    except (sqlite3.Error, msgspec.MsgspecError):
        return {}
    return found


def _find_host(database: sqlite3.Connection, region: str, host: str) -> bytes | None:
    """The record of a host, or of the wildcard that it is below."""
    return _find_value(database, host_key(region, host)) or _find_value(
        database, host_key(region, name_of_wildcard(host))
    )


def _find_value(database: sqlite3.Connection, key: str) -> bytes | None:
    row = database.execute("select value from records where key = ?", (key,)).fetchone()
    return row[0] if row else None


def _last_purge(database: sqlite3.Connection, prefix: str) -> int:
    (revision,) = database.execute(
        "select coalesce(max(revision), 0) from records where key > ? and key < ?",
        (prefix, prefix[:-1] + "/"),
    ).fetchone()
    return int(revision)


def peer_addresses(path: Path) -> list[str]:
    """`host:port` of all edges that records name. May be called from any thread, as above."""
    try:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=_LOCK_SECONDS)) as database:
            rows = database.execute(
                f"select value from records where {_has_kind('node')} and value is not null"  # noqa: S608
            ).fetchall()
        return [_peers.decode(value).address for (value,) in rows]
    except (sqlite3.Error, msgspec.MsgspecError):
        return []


def _open_database(path: Path) -> sqlite3.Connection:
    # Before SQLite creates it, because its other files get the mode of this one.
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
