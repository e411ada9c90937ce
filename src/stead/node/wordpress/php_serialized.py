"""Changes strings inside values that PHP has serialized, without instantiating anything.

The format is read here and nowhere given to PHP: an object of any class is a list of names and values. Only
string values change, and their lengths with them. Keys, names of classes, numbers and references stay.
"""

import re
from collections.abc import Callable

MAX_DEPTH = 4096
"""As `unserialize_max_depth` of PHP, which refuses deeper values."""

_SCALAR = re.compile(
    rb"N;|b:[01];|i:[+-]?\d+;|[rR]:\d+;"
    rb"|d:(?:[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?|-?INF|NAN);"
)
_SIZED = re.compile(rb"([sSaOCE]):(\d{1,10}):")
_COUNT = re.compile(rb":(\d{1,10}):\{")
_ESCAPE = re.compile(rb"\\([0-9a-fA-F]{2})|([^\\])", re.DOTALL)
_LOOKS = re.compile(rb'(?:a:\d+:\{|[sS]:\d+:"|[OCE]:\d+:")')

Change = Callable[[bytes], bytes]


class Malformed(ValueError):
    """PHP could not read the value either."""


def looks_serialized(data: bytes) -> bool:
    """Whether WordPress would try to read it as a serialized value that can contain text."""
    data = data.strip()
    return data[-1:] in (b";", b"}") and _LOOKS.match(data) is not None


def change_strings(
    data: bytes,
    change: Change,
    opaque: Callable[[bytes], None],
    start: int,
    find_next: Callable[[int], int],
) -> tuple[bytes, int]:
    """Return the serialized value that begins at `start`, with changed strings, and where it ended.

    `find_next` returns the first position, from the given one on, at which something may have to change.
    Strings without such a position stay. `opaque` is called with data in the format of a class of its own
    (`C:`), which stays as it is. Raises Malformed.
    """
    walk = _Walk(data, change, opaque, find_next)
    end = walk.run(start)
    return walk.result(start, end), end


class _Walk:
    def __init__(
        self,
        data: bytes,
        change: Change,
        opaque: Callable[[bytes], None],
        find_next: Callable[[int], int],
    ) -> None:
        self._data, self._change, self._opaque, self._find_next = data, change, opaque, find_next
        self._edits: list[tuple[int, int, bytes]] = []

    def run(self, position: int) -> int:
        data = self._data
        left: list[int] = []
        """How many keys and values each open array or object still needs. A key is next if it is even."""
        while True:
            if left and not left[-1]:
                if data[position : position + 1] != b"}":
                    raise Malformed
                position += 1
                left.pop()
            else:
                is_key = bool(left) and left[-1] % 2 == 0
                if left:
                    left[-1] -= 1
                position, children = self._read(position, is_key=is_key)
                if children is not None:
                    if len(left) >= MAX_DEPTH:
                        raise Malformed
                    left.append(children)
            if not left:
                return position

    def result(self, start: int, end: int) -> bytes:
        if not self._edits:
            return self._data[start:end]
        pieces, position = [], start
        for begin, finish, text in self._edits:
            pieces += [self._data[position:begin], text]
            position = finish
        return b"".join([*pieces, self._data[position:end]])

    def _read(self, position: int, *, is_key: bool) -> tuple[int, int | None]:
        """Read one token. Returns where it ends, and how many keys and values follow in it."""
        data = self._data
        found = _SIZED.match(data, position)
        if found is None:
            found = _SCALAR.match(data, position)
            if found is None or (is_key and data[position] != ord("i")):
                raise Malformed
            return found.end(), None
        kind, size, position = found[1], int(found[2]), found.end()
        if kind in (b"s", b"S"):
            return self._read_string(kind, size, found.start(), position, is_key=is_key), None
        if is_key:
            raise Malformed
        if kind == b"a":
            return self._expect(position, b"{"), self._pairs(size)
        position = self._skip_name(size, position)
        if kind == b"E":
            return self._expect(position, b";"), None
        found = _COUNT.match(data, position)
        if found is None:
            raise Malformed
        position = found.end()
        if kind == b"O":
            return position, self._pairs(int(found[1]))
        end = position + int(found[1])
        after = self._expect(end, b"}")
        self._opaque(data[position:end])
        return after, None

    def _read_string(self, kind: bytes, size: int, start: int, position: int, *, is_key: bool) -> int:
        position = self._expect(position, b'"')
        if kind == b"s":
            end = position + size
            if is_key or self._find_next(position) >= end:
                return self._expect(end, b'";')
            text = self._data[position:end]
        else:
            text, end = self._unescape(size, position)
        end = self._expect(end, b'";')
        changed = text if is_key else self._change(text)
        if changed != text:
            self._edits.append((start, end, b's:%d:"%b";' % (len(changed), changed)))
        return end

    def _unescape(self, size: int, position: int) -> tuple[bytes, int]:
        """A string in the old binary form: each byte is itself, or `\\` and two hexadecimal digits."""
        text = bytearray()
        while len(text) < size:
            found = _ESCAPE.match(self._data, position)
            if found is None:
                raise Malformed
            text += bytes([int(found[1], 16)]) if found[1] else found[2]
            position = found.end()
        return bytes(text), position

    def _skip_name(self, size: int, position: int) -> int:
        return self._expect(self._expect(position, b'"') + size, b'"')

    def _pairs(self, count: int) -> int:
        if count > len(self._data):
            raise Malformed
        return 2 * count

    def _expect(self, position: int, wanted: bytes) -> int:
        if self._data[position : position + len(wanted)] != wanted:
            raise Malformed
        return position + len(wanted)
