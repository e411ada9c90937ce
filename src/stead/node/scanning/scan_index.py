"""The file with what was clean at the last scan of a site: a line for each file, in the order of paths."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from stead.node.snapshots.tree_scan import Key, escape, unescape

FAILED = b"-"
"""Instead of the hash of a file that had no result: it is read after all others."""
Facts = tuple[int, int, int, int]
"""The inode of a file, its size, and when its content and its inode were changed, in nanoseconds."""


def build_line(place: int, key: Key, facts: Facts, result: bytes) -> bytes:
    """`place` is that of the root; `result` the hash of the content, or `FAILED`."""
    return b"%d %d %d %d %d %b %b\n" % (place, *facts, result, escape(b"/".join(key)))


class ScanIndex:
    """The lines of the index of one root, in the order of the paths."""

    def __init__(self, file: Path, version: str, place: int, *, trust: bool) -> None:
        self._lines = _read(file, version, place)
        self._next = next(self._lines, None)
        self._trust = trust

    def find(self, key: Key, facts: Facts) -> tuple[bool, bytes]:
        """Whether the file is the same as at the last scan, and the hash that was clean then."""
        while self._next is not None and self._next[0] < key:
            self._next = next(self._lines, None)
        if self._next is None or self._next[0] != key or not self._trust:
            return False, b""
        return self._next[1] == facts, self._next[2]


def _read(file: Path, version: str, wanted: int) -> Iterator[tuple[Key, Facts, bytes]]:
    """What cannot be read ends it: the rest is not known."""
    with suppress(OSError, ValueError), file.open("rb") as lines:
        if lines.readline().rstrip(b"\n") != version.encode():
            return
        for line in lines:
            place, inode, size, modified, changed, digest, path = line.rstrip(b"\n").split(b" ", 6)
            if int(place) == wanted:
                key = tuple(unescape(path).split(b"/"))
                yield (
                    key,
                    (int(inode), int(size), int(modified), int(changed)),
                    b"" if digest == FAILED else bytes.fromhex(digest.decode()),
                )
