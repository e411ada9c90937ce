"""Counts the rows of a dump and computes their checksums while the dump is written or read.

The checksum of a table is the sum of the hashes of its rows, so the order in which MariaDB returns them does
not matter. Each row is a line of its own, because line breaks in values are escaped.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import blake2b, sha256

_INSERT, _VALUES = b"INSERT INTO `", b"` VALUES"
_CREATE, _COLUMNS = b"CREATE TABLE `", b"` ("
_TRIGGER_BEGINS, _TRIGGER_ENDS = b"DELIMITER ;;", b"DELIMITER ;"
_HASH_BYTES = 16
_MODULUS = 1 << 8 * _HASH_BYTES
_LONGEST_HEAD = 300
"""Of a line that is not a row, as far as it is looked at. The name of a table has at most 64 characters."""


@dataclass
class TableDigest:
    rows: int = 0
    sum: int = 0

    @property
    def checksum(self) -> str:
        return f"{self.sum % _MODULUS:0{2 * _HASH_BYTES}x}"


class DumpDigest:
    """`feed` it the whole dump, in pieces of any size. Used by one thread at a time."""

    def __init__(self, *, whole: bool = True) -> None:
        """Without `whole`, there is no digest of the dump itself."""
        self.bytes = 0
        self._tables: dict[bytes, TableDigest] = {}
        self._whole = sha256() if whole else None
        self._table: TableDigest | None = None
        """The one whose rows come now."""
        self._in_trigger = False
        self._head = b""
        """How the line begins that is not complete yet."""
        self._row = blake2b(digest_size=_HASH_BYTES)
        self._tail = b""
        """What ends a row is not part of it, so the last byte is kept back."""
        self._within = False

    @property
    def digest(self) -> str:
        return f"sha256:{self._whole.hexdigest()}" if self._whole else ""

    @property
    def tables(self) -> Mapping[str, TableDigest]:
        """Those that are made by the dump or have rows, by name."""
        return {_unquote(name): table for name, table in self._tables.items()}

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self._tables.values())

    def feed(self, piece: bytes) -> None:
        self.bytes += len(piece)
        if self._whole is not None:
            self._whole.update(piece)
        lines = piece.split(b"\n")
        last = lines.pop()
        for line in lines:
            if self._within:
                self._continue(line)
                self._end()
            elif line.startswith(b"(") and self._table is not None:
                self._add_row(line[:-1])
            else:
                self._look_at(line)
        if last:
            self._continue(last)

    def _add_row(self, row: bytes) -> None:
        table = self._table
        assert table is not None  # noqa: S101
        table.rows += 1
        table.sum += int.from_bytes(blake2b(row, digest_size=_HASH_BYTES).digest(), "big")

    def _continue(self, part: bytes) -> None:
        """The line is not complete; it may be longer than the memory."""
        self._within = True
        if len(self._head) < _LONGEST_HEAD:
            self._head += part[: _LONGEST_HEAD - len(self._head)]
        if self._table is not None and self._head.startswith(b"("):
            data = self._tail + part
            self._row.update(data[:-1])
            self._tail = data[-1:]

    def _end(self) -> None:
        table = self._table
        if table is not None and self._head.startswith(b"("):
            table.rows += 1
            table.sum += int.from_bytes(self._row.digest(), "big")
            self._row = blake2b(digest_size=_HASH_BYTES)
        else:
            self._look_at(self._head)
        self._head, self._tail, self._within = b"", b"", False

    def _look_at(self, line: bytes) -> None:
        """A line that is not a row. The bodies of triggers may have lines that look like others."""
        if self._in_trigger:
            self._in_trigger = line != _TRIGGER_ENDS
            return
        if line == _TRIGGER_BEGINS:
            self._in_trigger, self._table = True, None
        elif line.startswith(_INSERT) and line.endswith(_VALUES):
            name = line[len(_INSERT) - 1 : -len(_VALUES) + 1]
            self._table = self._tables.setdefault(name, TableDigest())
        elif line.startswith(_CREATE) and line.endswith(_COLUMNS):
            self._table = None
            self._tables.setdefault(line[len(_CREATE) - 1 : -len(_COLUMNS) + 1], TableDigest())
        elif line:
            self._table = None


def _unquote(name: bytes) -> str:
    return name[1:-1].replace(b"``", b"`").decode(errors="replace")
