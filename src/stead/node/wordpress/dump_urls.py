"""Replaces the host of URLs in the rows of a dump while it is loaded, so that each row is written once.

A row is changed here only if its new values are certain to be accepted by its table: the dump is loaded
without the strict mode of MariaDB, which would cut what is too long. Tables with any other row, and those
whose definition is not understood, are left to `replace_in_schema`.
"""

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field

from stead.node.databases.dumped_tables import (
    MAX_LINES,
    DumpedColumn,
    DumpedTable,
    RowPattern,
    read_definition,
    read_value,
    write_value,
)
from stead.node.wordpress.column_values import BINARY_TYPES, is_replaced, replace_value
from stead.node.wordpress.database_urls import MAX_VALUE_BYTES, DatabaseCounts
from stead.node.wordpress.url_replacement import ReplacementCounts, UrlReplacement

_DEFINITION, _DEFINITION_END, _INSERT, _ROW = b"CREATE TABLE ", b")", b"INSERT INTO ", b"("

MAX_WRITTEN_BYTES = 16 << 20
"""The new values of a row. A longer statement could be more than MariaDB accepts."""

_Place = tuple[DumpedColumn, int, int]
"""Where the value of a column begins and ends in a line."""


@dataclass
class _Table:
    dumped: DumpedTable
    columns: list[DumpedColumn]
    """Those that can contain a URL."""
    row: RowPattern
    has_binary: bool
    finished: bool = True
    """Whether nothing is left to do."""
    counts: DatabaseCounts = field(default_factory=DatabaseCounts)


class DumpUrls:
    def __init__(self, replacement: UrlReplacement) -> None:
        self._replacement = replacement
        self._definition: list[bytes] = []
        self._tables: list[_Table] = []
        self._defined: _Table | None = None
        """The last one, if it is understood."""
        self._filled: _Table | None = None
        """The one that the next row belongs to."""
        self.bytes = 0
        """Of rows that contain the host."""

    def change_line(self, line: bytes) -> bytes:
        """Called with every line of the dump that is not part of a trigger. The end of a line that is too
        long is missing."""
        if line.startswith(_ROW):
            return self._change_row(self._filled, line) if self._filled else line
        self._filled = None
        if line.startswith(_INSERT):
            self._begin_rows(line)
        elif line.startswith(_DEFINITION):
            self._definition, self._defined = [line], None
        elif self._definition:
            self._continue_definition(line)
        return line

    @property
    def finished(self) -> set[str]:
        """The names of tables in which nothing is left to do."""
        return {table.dumped.name for table in self._tables if table.finished}

    def add_counts(self, counts: DatabaseCounts) -> None:
        """To those of `replace_in_schema`, which has counted what is still left in the other tables."""
        for table in self._tables:
            counts.rows += table.counts.rows
            counts.values.urls += table.counts.values.urls
            if table.finished:
                counts.values.broken += table.counts.values.broken
                counts.values.unsupported += table.counts.values.unsupported
                counts.values.base64 += table.counts.values.base64

    def _continue_definition(self, line: bytes) -> None:
        self._definition.append(line)
        if not line.startswith(_DEFINITION_END) and len(self._definition) <= MAX_LINES:
            return
        dumped = read_definition(self._definition)
        self._definition = []
        if dumped is None:
            return
        columns = [
            column
            for column in dumped.columns
            if is_replaced(column.name, column.kind, in_primary_key=column.in_primary_key)
        ]
        has_binary = any(column.kind in BINARY_TYPES for column in columns)
        self._defined = _Table(dumped, columns, RowPattern(dumped, columns), has_binary)
        self._tables.append(self._defined)

    def _begin_rows(self, line: bytes) -> None:
        if self._defined is None:
            return
        if line == self._defined.dumped.insert:
            self._filled = self._defined
        else:
            self._defined.finished = False

    def _change_row(self, table: _Table, line: bytes) -> bytes:
        # Nothing that is searched for is escaped in a dump. Binary values are written in hexadecimal.
        terms = self._replacement.find_terms(line)
        if not terms and not table.has_binary and line.endswith(b"\n"):
            return line
        spans = table.row.find(line)
        if spans is None:
            table.finished = False
            return line
        if terms:
            self.bytes += len(line)
        concerned = _choose(table, spans, terms)
        if not concerned:
            return line
        counts = ReplacementCounts()
        try:
            changes = self._find_changes(table, line, concerned, counts)
        except _NotHere:
            table.finished = False
            return line
        table.counts.values.add(counts)
        if not changes:
            return line
        table.counts.rows += 1
        pieces, position = [], 0
        for start, end, written in changes:
            pieces += [line[position:start], written]
            position = end
        return b"".join([*pieces, line[position:]])

    def _find_changes(
        self, table: _Table, line: bytes, concerned: Sequence[_Place], counts: ReplacementCounts
    ) -> list[tuple[int, int, bytes]]:
        """Where a value begins and ends, and what is there instead. Raises _NotHere."""
        changes, size = [], 0
        for column, start, end in concerned:
            before = _read(line[start:end])
            binary = column.kind in BINARY_TYPES
            if before is None or (binary and not self._replacement.concerns(before)):
                continue
            if len(before) > MAX_VALUE_BYTES:
                raise _NotHere
            after = replace_value(
                table.dumped.name, column.name, before, self._replacement, counts, binary=binary
            )
            if after == before:
                continue
            if column.in_key or not column.has_room_for(after):
                raise _NotHere
            written = write_value(after, binary=binary)
            size += len(written)
            if size > MAX_WRITTEN_BYTES:
                raise _NotHere
            changes.append((start, end, written))
        return changes


def _choose(table: _Table, spans: Sequence[tuple[int, int]], terms: list[int]) -> list[_Place]:
    """The columns whose values contain one of the terms, or may contain one because they are binary."""
    chosen: list[_Place] = []
    for column, (start, end) in zip(table.columns, spans, strict=True):
        at = bisect_left(terms, start)
        if (at < len(terms) and terms[at] < end) or (table.has_binary and column.kind in BINARY_TYPES):
            chosen.append((column, start, end))
    return chosen


class _NotHere(Exception):
    """A row that must be changed in its table."""


def _read(written: bytes) -> bytes | None:
    try:
        return read_value(written)
    except ValueError:
        raise _NotHere from None
