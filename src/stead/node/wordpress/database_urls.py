"""Replaces the host of URLs in tables of a schema that nobody else writes to.

Rows are read in the order of the primary key, and only those that contain the host at all. What is read and
not yet written is bounded, however large a table is.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from stead.mariadb.connection import Connection, StatementFailed, Value, connect
from stead.node.databases.names import quote_name
from stead.node.wordpress.column_values import BINARY_TYPES, is_replaced, replace_value
from stead.node.wordpress.url_replacement import ReplacementCounts, UrlReplacement

PAGE_ROWS = 1000
MAX_TABLES = 20_000
STATEMENT_SECONDS = 600
"""Triggers of the customer run with each statement, and may never end."""
BATCH_ROWS, BATCH_BYTES = 250, 4 << 20
"""How much is written at once."""
MAX_VALUE_BYTES = 32 << 20
"""A larger value stays as it is: changing it takes several times its size in memory."""
_UNORDERED_TYPES = ("float", "double", "enum", "set", "bit")
"""Types of keys whose order is not that of their values as text, or whose values change on the way."""
_ROW_REFUSED = {1062, 1264, 1265, 1292, 1366, 1406, 1442, 1451, 1452, 1644, 4025}
"""The new value is not unique, too long for its column, or refused by a constraint or a trigger."""


class ReplacementFailed(Exception):
    """The message says why."""


@dataclass
class DatabaseCounts:
    rows: int = 0
    """Changed ones."""
    refused: int = 0
    """Rows whose new value does not fit in the table. They stay as they are."""
    too_large: int = 0
    without_key: list[str] = field(default_factory=list)
    """Tables with the host whose rows have no primary key, or one without an order. They stay as they are."""
    values: ReplacementCounts = field(default_factory=ReplacementCounts)


@dataclass(frozen=True)
class _Table:
    schema: str
    name: str
    key: tuple[str, ...]
    """Empty if rows cannot be read in its order."""
    columns: tuple[str, ...]
    """Those that can contain a URL."""
    binary: frozenset[str]
    timestamps: tuple[str, ...]
    """Columns that MariaDB sets to the current time when a row is changed, unless they are assigned."""

    @property
    def quoted(self) -> str:
        return f"{quote_name(self.schema)}.{_name(self.name)}"


def replace_in_schema(
    socket: Path,
    schema: str,
    replacement: UrlReplacement,
    on_row: Callable[[int], None] = lambda _: None,
    left_out: Collection[str] = (),
) -> DatabaseCounts:
    """In all tables but those that are `left_out`. Blocks. Can be repeated, also after it was interrupted.
    `on_row` is called with the size of every row that contains the host, and may raise. Raises
    ReplacementFailed, StatementFailed, ServerUnavailable."""
    counts = DatabaseCounts()
    if not replacement.old:
        return counts
    with connect(socket) as reading, connect(socket, many=True) as writing:
        for connection in (reading, writing):
            # An hour that happens twice a year would make two keys look the same.
            connection.execute(f"SET time_zone = '+00:00', max_statement_time = {STATEMENT_SECONDS:d}")
        writing.execute("SET sql_mode = 'STRICT_ALL_TABLES'")
        for name in _list_names(reading, schema):
            if name in left_out:
                continue
            table = _describe(reading, schema, name)
            if table.key:
                _replace_in_table(reading, writing, table, replacement, counts, on_row)
            elif _contains(reading, table, replacement):
                counts.without_key.append(table.name)
    return counts


def _name(name: str) -> str:
    """In a statement with values, where `%` is doubled."""
    return quote_name(name).replace("%", "%%")


def _list_names(connection: Connection, schema: str) -> list[str]:
    rows = connection.execute(
        "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
        " AND table_type IN ('BASE TABLE', 'SYSTEM VERSIONED') ORDER BY table_name LIMIT %s",
        [schema, MAX_TABLES + 1],
    )
    if len(rows) > MAX_TABLES:
        raise ReplacementFailed(f"the database has more than {MAX_TABLES} tables")
    return [str(name) for (name,) in rows]


def _describe(connection: Connection, schema: str, table: str) -> _Table:
    rows = connection.execute(
        "SELECT column_name, data_type, column_key = 'PRI', extra, generation_expression IS NOT NULL"
        " FROM information_schema.columns WHERE table_schema = %s AND table_name = %s"
        " ORDER BY ordinal_position",
        [schema, table],
    )
    keys = connection.execute(
        "SELECT column_name FROM information_schema.statistics"
        " WHERE table_schema = %s AND table_name = %s AND index_name = 'PRIMARY' ORDER BY seq_in_index",
        [schema, table],
    )
    ordered = not any(in_key and kind in _UNORDERED_TYPES for _, kind, in_key, *_ in rows)
    return _Table(
        schema,
        table,
        key=tuple(str(column) for (column,) in keys) if ordered else (),
        columns=tuple(str(row[0]) for row in rows if _can_change(*row)),
        binary=frozenset(str(row[0]) for row in rows if row[1] in BINARY_TYPES),
        timestamps=tuple(str(row[0]) for row in rows if "on update" in str(row[3]).lower()),
    )


def _can_change(column: Value, kind: Value, in_key: Value, _: Value, generated: Value) -> bool:
    return not generated and is_replaced(str(column), str(kind), in_primary_key=bool(in_key))


def _contains(connection: Connection, table: _Table, replacement: UrlReplacement) -> bool:
    condition, values = _condition(table, replacement)
    found = connection.execute(f"SELECT 1 FROM {table.quoted} WHERE {condition} LIMIT 1", values)  # noqa: S608
    return bool(found)


def _replace_in_table(
    reading: Connection,
    writing: Connection,
    table: _Table,
    replacement: UrlReplacement,
    counts: DatabaseCounts,
    on_row: Callable[[int], None],
) -> None:
    if not table.columns:
        return
    after: tuple[Value, ...] = ()
    batch = _Batch(writing, counts)
    while True:
        read, before = 0, after
        for row in reading.stream(*_page(table, replacement, after)):
            on_row(sum(len(value) for value in row if isinstance(value, str | bytes)))
            read += 1
            after = row[: len(table.key)]
            if changed := _replace_in_row(table, replacement, row, counts):
                batch.add(_update(table, changed, after))
        batch.write()
        if read < PAGE_ROWS:
            return
        if after == before:
            raise ReplacementFailed("a table cannot be read in the order of its key")


class _Batch:
    """Updates that are written together, in a transaction."""

    def __init__(self, connection: Connection, counts: DatabaseCounts) -> None:
        self._connection, self._counts = connection, counts
        self._updates: list[tuple[str, Sequence[Value]]] = []
        self._bytes = 0

    def add(self, update: tuple[str, Sequence[Value]]) -> None:
        self._updates.append(update)
        self._bytes += len(update[0])
        if len(self._updates) >= BATCH_ROWS or self._bytes >= BATCH_BYTES:
            self.write()

    def write(self) -> None:
        updates, self._updates, self._bytes = self._updates, [], 0
        try:
            self._connection.execute_all([("START TRANSACTION", ()), *updates, ("COMMIT", ())])
            self._counts.rows += len(updates)
        except StatementFailed:
            self._connection.execute("ROLLBACK")
            for update in updates:
                self._write_alone(update)

    def _write_alone(self, update: tuple[str, Sequence[Value]]) -> None:
        try:
            self._connection.execute(*update)
            self._counts.rows += 1
        except StatementFailed as error:
            if error.number not in _ROW_REFUSED:
                raise
            self._counts.refused += 1


def _update(table: _Table, changed: Mapping[str, bytes], key: Sequence[Value]) -> tuple[str, Sequence[Value]]:
    # As hexadecimal numbers: escaping long texts takes most of the time otherwise.
    assigned = [f"{_name(column)} = {_literal(table, column, new)}" for column, new in changed.items()]
    kept = [f"{name} = {name}" for name in map(_name, table.timestamps)]
    condition = " AND ".join(f"{_name(column)} = %s" for column in table.key)
    statement = f"UPDATE {table.quoted} SET {', '.join(assigned + kept)} WHERE {condition}"  # noqa: S608
    return statement, key


def _literal(table: _Table, column: str, value: bytes) -> str:
    number = f"x'{value.hex()}'"
    return number if column in table.binary else f"_utf8mb4 {number}"


def _page(table: _Table, replacement: UrlReplacement, after: Sequence[Value]) -> tuple[str, list[Value]]:
    """A statement that selects the next rows: the key, how many values are too large, and the values, of
    which those are NULL."""
    condition, values = _condition(table, replacement)
    key = ", ".join(_name(column) for column in table.key)
    names = [_name(column) for column in table.columns]
    large = " + ".join(f"COALESCE(OCTET_LENGTH({name}) > {MAX_VALUE_BYTES:d}, 0)" for name in names)
    columns = "".join(f", IF(OCTET_LENGTH({name}) > {MAX_VALUE_BYTES:d}, NULL, {name})" for name in names)
    cursor, position = _later_than(table, after)
    return (
        f"SELECT {key}, {large}{columns} FROM {table.quoted} WHERE ({condition}){cursor}"  # noqa: S608
        f" ORDER BY {key} LIMIT {PAGE_ROWS:d}",
        [*values, *position],
    )


def _later_than(table: _Table, after: Sequence[Value]) -> tuple[str, list[Value]]:
    """`a > 1 OR a = 1 AND b > 2`, which uses the index."""
    if not after:
        return "", []
    names = [_name(column) for column in table.key]
    parts: list[str] = []
    values: list[Value] = []
    for index, name in enumerate(names):
        parts.append("".join(f"{earlier} = %s AND " for earlier in names[:index]) + f"{name} > %s")
        values += after[: index + 1]
    return f" AND ({' OR '.join(parts)})", values


def _condition(table: _Table, replacement: UrlReplacement) -> tuple[str, list[Value]]:
    """Whether a row needs attention. One search in bytes is several times as fast as comparing letters."""
    pattern = "(?i)" + "|".join(re.escape(term.decode()) for term in replacement.search_terms)
    parts = [f"CAST({_readable(table, column)} AS BINARY) REGEXP %s" for column in table.columns]
    return " OR ".join(parts) or "FALSE", [pattern] * len(parts)


def _readable(table: _Table, column: str) -> str:
    """In UTF-8, as WordPress reads it."""
    name = _name(column)
    return name if column in table.binary else f"CONVERT({name} USING utf8mb4)"


def _replace_in_row(
    table: _Table, replacement: UrlReplacement, row: Sequence[Value], counts: DatabaseCounts
) -> dict[str, bytes]:
    """The columns that change, with their new values."""
    changed: dict[str, bytes] = {}
    too_large, *values = row[len(table.key) :]
    counts.too_large += int(too_large or 0)
    for column, value in zip(table.columns, values, strict=True):
        if not isinstance(value, str | bytes):
            continue
        before = value.encode() if isinstance(value, str) else value
        if not replacement.concerns(before):
            continue
        binary = column in table.binary
        after = replace_value(table.name, column, before, replacement, counts.values, binary=binary)
        if after != before:
            changed[column] = after
    return changed
