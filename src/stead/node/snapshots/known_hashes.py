"""The hashes of files from the last snapshot. A file whose metadata are the same is not read again; restic
decides in the same way.

A site cannot set the time of the last change of an inode, and every change of a file sets it. A file that was
changed in the last moments before it was read is not remembered: it could be changed again at the same time.
"""

import os
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from stead.node.snapshots.tree_scan import Check, Key, escape, hash_content, unescape

SETTLED_NS = 3_000_000_000

_Facts = tuple[int, int, int, int]


class KnownHashes:
    """Used in the order of the paths, by one thread. What was seen in the block replaces the file when it
    ends without an error."""

    def __init__(self, file: Path) -> None:
        self._file, self._fresh = file, file.with_suffix(".new")
        self._known: Iterator[tuple[Key, _Facts, bytes]] = iter(())
        self._next: tuple[Key, _Facts, bytes] | None = None
        self._writing: IO[bytes] | None = None
        self.read_bytes = 0

    def __enter__(self) -> Self:
        self._known = _read(self._file)
        self._next = next(self._known, None)
        self._writing = self._fresh.open("wb")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._writing is not None  # noqa: S101
        self._writing.close()
        if error is None:
            self._fresh.rename(self._file)
        else:
            self._fresh.unlink(missing_ok=True)

    def hash_file(self, key: Key, status: os.stat_result, directory: int, check: Check) -> bytes:
        assert self._writing is not None  # noqa: S101
        facts = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        digest = self._find(key, facts)
        if digest is None:
            self.read_bytes += status.st_size
            digest = hash_content(key, status, directory, check)
        if status.st_ctime_ns < time.time_ns() - SETTLED_NS:
            self._writing.write(b"%d %d %d %d %b %b\n" % (*facts, digest, escape(b"/".join(key))))
        return digest

    def _find(self, key: Key, facts: _Facts) -> bytes | None:
        while self._next is not None and self._next[0] < key:
            self._next = next(self._known, None)
        if self._next is None or self._next[0] != key or self._next[1] != facts:
            return None
        return self._next[2]


def _read(file: Path) -> Iterator[tuple[Key, _Facts, bytes]]:
    """What cannot be read ends it: the rest is not known."""
    with suppress(OSError, ValueError), file.open("rb") as lines:
        for line in lines:
            inode, size, modified, changed, digest, path = line.rstrip(b"\n").split(b" ", 5)
            key = tuple(unescape(path).split(b"/"))
            yield key, (int(inode), int(size), int(modified), int(changed)), digest
