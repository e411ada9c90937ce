"""Reads the definitions of tables and the rows in a dump of `mariadb-dump`, as far as they can be understood
without any doubt.

`SHOW CREATE TABLE` always writes the same way, and so does the dump: one line for each column, key and row. A
definition with anything else, such as generated columns, constraints and partitions, is not understood.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

MAX_LINES = 5000
"""Of a definition. A table has at most 4096 columns."""

_NAME = rb"`(?:[^`\n]|``)+`"
_TEXT = rb"'(?:[^'\\\n]|''|\\.)*'"
_BEGIN = re.compile(rb"CREATE TABLE (" + _NAME + rb") \(\n")
_COLUMN = re.compile(
    rb"  (?P<name>" + _NAME + rb") (?P<type>\w+)"
    rb"(?:\((?P<size>\d+|\d+,\d+|" + _TEXT + rb"(?:," + _TEXT + rb")*)\))?(?: unsigned)?(?: zerofill)?"
    rb"(?: CHARACTER SET (?P<charset>\w+))?(?: COLLATE \w+)?(?: NOT NULL| NULL)?"
    rb"(?: DEFAULT (?:NULL|-?[\d.]+|b'[01]*'|current_timestamp\(\d*\)|" + _TEXT + rb"))?"
    rb"(?: ON UPDATE current_timestamp\(\d*\))?(?: AUTO_INCREMENT)?(?: COMMENT " + _TEXT + rb")?,?\n"
)
_KEY_COLUMN = rb"(" + _NAME + rb")(?:\(\d+\))?(?: DESC)?"
_KEY = re.compile(
    rb"  (?P<kind>PRIMARY|UNIQUE|FULLTEXT|SPATIAL)?(?: ?KEY)(?: " + _NAME + rb")?"
    rb" \((?P<columns>" + _KEY_COLUMN + rb"(?:," + _KEY_COLUMN + rb")*)\)"
    rb"(?: USING \w+)?(?: COMMENT " + _TEXT + rb")?,?\n"
)
_KEY_COLUMNS = re.compile(_KEY_COLUMN)
_END = re.compile(
    rb"\) ENGINE=InnoDB(?: AUTO_INCREMENT=\d+)? DEFAULT CHARSET=(?P<charset>\w+)(?: COLLATE=\w+)?"
    rb"(?: ROW_FORMAT=DYNAMIC)?(?: COMMENT=" + _TEXT + rb")?;\n"
)
_CHARSETS = (b"utf8mb4", b"utf8mb3", b"utf8", b"latin1", b"ascii")
"""Text takes at least as many bytes in the dump, which is UTF-8, as in the table."""
_VALUE = rb"(?>'[^']*+'|[^',()]++)"
_MAX_BYTES = {
    f"{prefix}{kind}": (1 << bits) - 1
    for kind in ("text", "blob")
    for prefix, bits in {"tiny": 8, "": 16, "medium": 24, "long": 32}.items()
}
_ESCAPES = (
    # The most frequent ones first.
    *((b'"', b'\\"'), (b"\n", b"\\n"), (b"'", b"\\'")),
    *((b"\r", b"\\r"), (b"\0", b"\\0"), (b"\x1a", b"\\Z")),
)


@dataclass(frozen=True)
class DumpedColumn:
    name: str
    kind: str
    size: int
    """The longest value: in characters for `char` and `varchar`, otherwise in bytes. 0 for other types."""
    in_primary_key: bool
    in_key: bool
    """Its values may have to be unique, or rows of other tables may refer to them."""

    def has_room_for(self, value: bytes) -> bool:
        if self.kind not in ("char", "varchar"):
            return len(value) <= self.size
        try:
            return len(value) <= self.size or len(value.decode()) <= self.size
        except UnicodeError:
            return False


class DumpedTable:
    def __init__(self, quoted: bytes, columns: Sequence[DumpedColumn]) -> None:
        self.name, self.columns = _unquote(quoted), columns
        self.insert = b"INSERT INTO " + quoted + b" VALUES\n"
        """The line before rows."""


class RowPattern:
    """Finds the values of some columns in lines with rows."""

    def __init__(self, table: DumpedTable, wanted: Sequence[DumpedColumn]) -> None:
        self._columns, self._wanted = table.columns, frozenset(wanted)

    @cached_property
    def _pattern(self) -> re.Pattern[bytes]:
        values = [b"(" + _VALUE + b")" if column in self._wanted else _VALUE for column in self._columns]
        return re.compile(rb"\(" + b",".join(values) + rb"\)[,;]\n")

    def find(self, line: bytes) -> Sequence[tuple[int, int]] | None:
        """Where the value of each wanted column begins and ends. None if the line is not understood."""
        # Without escaped characters of the same length, every quotation mark begins or ends a value. This is
        # several times as fast as a pattern that skips them.
        plain = line
        if b"\\'" in line:
            plain = line.replace(b"\\\\", b"\0\0").replace(b"\\'", b"\0\0")
        found = self._pattern.fullmatch(plain)
        return found and found.regs[1:]


def read_definition(lines: Sequence[bytes]) -> DumpedTable | None:
    """None if it is not understood."""
    begin, end = _BEGIN.fullmatch(lines[0]), _END.fullmatch(lines[-1])
    if begin is None or end is None or end["charset"] not in _CHARSETS:
        return None
    columns: list[re.Match[bytes]] = []
    keys = dict[bytes, set[bytes]]()
    for line in lines[1:-1]:
        if found := _COLUMN.fullmatch(line):
            if found["charset"] not in (None, *_CHARSETS):
                return None
            columns.append(found)
        elif found := _KEY.fullmatch(line):
            names = _KEY_COLUMNS.findall(found["columns"])
            keys.setdefault(found["kind"] or b"", set()).update(names)
        else:
            return None
    return DumpedTable(begin[1], [_make_column(column, keys) for column in columns])


def _make_column(found: re.Match[bytes], keys: Mapping[bytes, set[bytes]]) -> DumpedColumn:
    kind, size = found["type"].decode(), found["size"] or b""
    length = int(size) if size.isdigit() else _MAX_BYTES.get(kind, 0)
    in_keys = {key for key, columns in keys.items() if found["name"] in columns}
    return DumpedColumn(
        _unquote(found["name"]), kind, length, b"PRIMARY" in in_keys, bool(in_keys - {b"FULLTEXT"})
    )


def _unquote(name: bytes) -> str:
    return name[1:-1].replace(b"``", b"`").decode()


def read_value(written: bytes) -> bytes | None:
    """The text or bytes that a row has; None for everything else. Raises ValueError if it is not as MariaDB
    writes it."""
    if written.startswith(b"0x"):
        return bytes.fromhex(written[2:].decode())
    if not written.startswith(b"'"):
        return None
    text = written[1:-1]
    # Without pairs of backslashes, every backslash begins one of the other sequences.
    return b"\\".join(map(_unescape, text.split(b"\\\\")))


def _unescape(text: bytes) -> bytes:
    for character, escaped in _ESCAPES:
        if b"\\" not in text:
            return text
        text = text.replace(escaped, character)
    if b"\\" in text:
        raise ValueError("an unknown sequence")
    return text


def write_value(value: bytes, *, binary: bool) -> bytes:
    if binary and value:
        return b"0x" + value.hex().encode()
    text = value.replace(b"\\", b"\\\\")
    for character, escaped in _ESCAPES:
        text = text.replace(character, escaped)
    return b"'" + text + b"'"
