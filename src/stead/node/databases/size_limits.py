"""Keeps databases within their size. The user of one that is too large can read and delete, but not add.

All databases of a node share one disk, and MariaDB ends when it is full.
"""

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar

import structlog

from stead.mariadb.connection import Connection, StatementFailed, connect
from stead.node.databases.databases import PRIVILEGES, end_connections
from stead.node.databases.names import (
    is_people_account,
    is_schema_name,
    quote_account,
    quote_name,
    quote_pattern,
)
from stead.node.uninterrupted import run_in_thread

ROOM_FRACTION = 0.9
"""A database may grow again when it uses less than this part of its limit."""
GROWING = tuple(
    each for each in PRIVILEGES if each not in ("SELECT", "DELETE", "DROP", "LOCK TABLES", "SHOW VIEW")
)

log = structlog.get_logger()

SchemaName = TypeVar("SchemaName", bound=str)


class SizeLimits:
    def __init__(self, socket: Path) -> None:
        self._socket = socket
        self._closed: dict[str, tuple[bool, list[str]]] = {}
        """Whether each database is closed for new rows, and for which users. Unknown ones are checked and set
        once."""

    async def enforce(self, limits: Mapping[SchemaName, int]) -> list[str]:
        """`limits` are in bytes, by the name of the schema. Returns the databases that are closed for new
        rows. Call it every few seconds."""
        return await run_in_thread(self._enforce, limits)

    def forget(self, schema: str) -> None:
        """Its privileges were set again, or it was removed."""
        self._closed.pop(schema, None)

    def _enforce(self, limits: Mapping[SchemaName, int]) -> list[str]:
        with connect(self._socket) as connection:
            # A statement that fills a table holds a lock on it: do not wait for it.
            connection.execute("SET lock_wait_timeout = 1")
            data = Path(str(connection.execute("SELECT @@datadir")[0][0]))
            people = _list_people(connection)
            for schema, limit in limits.items():
                try:
                    users: list[str] = [schema, *people.get(quote_pattern(schema), [])]
                    self._enforce_one(connection, data, schema, limit, users)
                except (StatementFailed, OSError) as error:
                    log.warning("database.not_limited", schema=schema, reason=str(error))
        return [schema for schema, (closed, _) in self._closed.items() if closed]

    def _enforce_one(
        self, connection: Connection, data: Path, schema: str, limit: int, users: list[str]
    ) -> None:
        if not is_schema_name(schema):
            raise ValueError("not the schema of an environment")
        used = _file_bytes(data / schema)
        if used >= limit * ROOM_FRACTION:
            used -= _free_bytes(connection, schema)
        if used > limit:
            self._set(connection, schema, users, closed=True)
        elif used < limit * ROOM_FRACTION:
            self._set(connection, schema, users, closed=False)

    def _set(self, connection: Connection, name: str, users: list[str], *, closed: bool) -> None:
        if self._closed.get(name) == (closed, users):
            return
        if not connection.execute("SELECT 1 FROM mysql.global_priv WHERE user = %s", [name]):
            return
        pattern = quote_pattern(name)
        for user in users:
            account = quote_account(user)
            # Granted in any case: a right that was never granted cannot be revoked.
            connection.execute(f"GRANT {', '.join(GROWING)} ON {pattern}.* TO {account}")
            if closed:
                connection.execute(f"REVOKE {', '.join(GROWING)} ON {pattern}.* FROM {account}")
                # Open connections keep the privileges that they began with.
                end_connections(connection, user)
        if closed:
            log.warning("database.full", schema=name)
        self._closed[name] = closed, users


def _list_people(connection: Connection) -> dict[str, list[str]]:
    """The users for people, by the schema that they may use, quoted as a pattern."""
    found: dict[str, list[str]] = {}
    for pattern, user in connection.execute("SELECT db, user FROM mysql.db ORDER BY user"):
        if is_people_account(str(user)):
            found.setdefault(quote_name(str(pattern)), []).append(str(user))
    return found


def _file_bytes(directory: Path) -> int:
    total = 0
    for path in directory.glob("*"):
        # A table may be dropped meanwhile.
        with contextlib.suppress(FileNotFoundError):
            total += path.stat().st_size
    return total


def _free_bytes(connection: Connection, name: str) -> int:
    """What is free inside its files: deleting rows makes no file smaller. 0 while a table is locked."""
    try:
        (row,) = connection.execute(
            "SELECT CAST(COALESCE(SUM(data_free), 0) AS INTEGER)"
            " FROM information_schema.tables WHERE table_schema = %s",
            [name],
        )
    except StatementFailed:
        return 0
    return int(row[0] or 0)
