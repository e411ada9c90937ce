"""Reads the files of a site for the list in a snapshot, and compares the list with restored files.

Files belong to customers, who may change them meanwhile. Every directory and file is opened relative to its
directory, and links are never followed. Entries come in the order of their paths, so that two long lists can
be compared without keeping either in memory.
"""

import os
import stat
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

MAX_DEPTH = 200
MAX_FILES = 5_000_000
HASH_BYTES = 32
NO_HASH = b"-"
_CHUNK = 1 << 20
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC

Key = tuple[bytes, ...]
"""The parts of a path. The top directory is `()`."""


class ScanFailed(Exception):
    """The message says why."""


class ScanStopped(Exception):
    """Nobody needs the result any more."""


@dataclass(frozen=True, slots=True)
class Entry:
    key: Key
    kind: bytes
    """`d`, `f` or `l`: a directory, a file, or a link."""
    mode: int
    size: int
    hash: bytes
    """Of the content of a file or the target of a link. `NO_HASH` for directories."""
    modified: int = 0
    """In nanoseconds since 1970; not part of the list."""

    @property
    def path(self) -> bytes:
        return b"/".join(self.key)

    def encode(self) -> bytes:
        return b"%b %o %d %b %b\n" % (self.kind, self.mode, self.size, self.hash, escape(self.path))


def decode(line: bytes) -> Entry:
    """Raises ValueError."""
    kind, mode, size, digest, path = line.rstrip(b"\n").split(b" ", 4)
    return Entry(tuple(unescape(path).split(b"/")), kind, int(mode, 8), int(size), digest)


def escape(path: bytes) -> bytes:
    return path.replace(b"\\", b"\\\\").replace(b"\n", b"\\n")


def unescape(text: bytes) -> bytes:
    return b"\\".join(part.replace(b"\\n", b"\n") for part in text.split(b"\\\\"))


Check = Callable[[], None]
"""Raises ScanStopped when nobody needs the result any more."""
Hash = Callable[[Key, os.stat_result, int, Check], bytes]
"""The hash of a file, from its path, its metadata and an open descriptor of its directory. It is checked for
each piece that is read."""


class TreeScan:
    """Blocks; run it in a thread."""

    def __init__(self, root: Path, hash_file: Hash | None = None, *, max_bytes: int | None = None) -> None:
        """The sizes of all files together may be `max_bytes`. Sparse files and hard links can make them much
        larger than the disk."""
        self._root, self._hash_file, self._max_bytes = root, hash_file or hash_content, max_bytes
        self.files = self.bytes = 0
        self.stopped = False
        self._count = 0

    def entries(self) -> Iterator[Entry]:
        """Of everything below the root, in the order of `Key`. Sockets, pipes and devices are left out: they
        are no content. What is removed meanwhile is left out, too. Raises ScanFailed and ScanStopped."""
        with _open(self._root) as top:
            yield Entry((), b"d", 0, 0, NO_HASH, os.fstat(top).st_mtime_ns)
            yield from self._below(top, ())

    def _below(self, directory: int, key: Key) -> Iterator[Entry]:
        if len(key) > MAX_DEPTH:
            raise ScanFailed(f"the files are in more than {MAX_DEPTH} levels of directories")
        with os.scandir(directory) as found:
            names = sorted(os.fsencode(entry.name) for entry in found)
        for name in names:
            self._check()
            # What was removed or replaced meanwhile.
            with suppress(FileNotFoundError, NotADirectoryError):
                yield from self._look_at(directory, (*key, name), name)

    def _look_at(self, directory: int, key: Key, name: bytes) -> Iterator[Entry]:
        status = os.stat(name, dir_fd=directory, follow_symlinks=False)
        mode, modified = stat.S_IMODE(status.st_mode) & 0o777, status.st_mtime_ns
        if stat.S_ISDIR(status.st_mode):
            with _open(name, directory) as below:
                yield Entry(key, b"d", mode, 0, NO_HASH, modified)
                yield from self._below(below, key)
        elif stat.S_ISREG(status.st_mode):
            self._require_size(self.bytes + status.st_size)
            digest = self._hash_file(key, status, directory, self._require_needed)
            self.files += 1
            self.bytes += status.st_size
            yield Entry(key, b"f", mode, status.st_size, digest, modified)
        elif stat.S_ISLNK(status.st_mode):
            target = os.readlink(name, dir_fd=directory)
            yield Entry(key, b"l", 0, len(target), _hash(target), modified)

    def _check(self) -> None:
        self._require_needed()
        self._count += 1
        if self._count > MAX_FILES:
            raise ScanFailed(f"there are more than {MAX_FILES} files")

    def _require_needed(self) -> None:
        if self.stopped:
            raise ScanStopped

    def _require_size(self, size: int) -> None:
        if self._max_bytes is not None and size > self._max_bytes:
            raise ScanFailed(f"the sizes of the files add up to more than {self._max_bytes >> 20} MB")


def hash_content(key: Key, status: os.stat_result, directory: int, check: Check) -> bytes:
    """Of as many bytes as the file had when its metadata was read: it may grow without end."""
    descriptor = os.open(key[-1], _FILE, dir_fd=directory)
    try:
        made, remaining = blake2b(digest_size=HASH_BYTES), status.st_size
        while piece := os.read(descriptor, min(_CHUNK, remaining)):
            check()
            made.update(piece)
            remaining -= len(piece)
    finally:
        os.close(descriptor)
    return made.hexdigest().encode()


def _hash(data: bytes) -> bytes:
    return blake2b(data, digest_size=HASH_BYTES).hexdigest().encode()


@contextmanager
def _open(name: Path | bytes, directory: int | None = None) -> Iterator[int]:
    descriptor = os.open(name, _DIRECTORY, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@dataclass
class Comparison:
    """`damaged` is the path of the first entry that is not as it should be."""

    files: int = 0
    changed_meanwhile: int = 0
    damaged: bytes | None = None


def compare(listed: Iterable[Entry], found: Iterable[Entry], began: int, hashes: bool = True) -> Comparison:
    """Compare the list of a snapshot with what is in it. A site goes on while its snapshot is taken: what was
    changed after `began` may differ. A change of a file has set its own time; a file that was made, renamed
    or removed has changed the time of its directory."""
    result = Comparison()
    recent: dict[Key, bool] = {}
    for wanted, got in _merge(listed, found):
        key = wanted.key if wanted else got.key if got else ()
        if got is not None and got.kind == b"d":
            recent[key] = got.modified >= began or (wanted is None and recent.get(key[:-1], False))
        if got is not None and got.kind == b"f":
            result.files += 1
        if not key or (wanted and got and _is_same(wanted, got, hashes=hashes)):
            continue
        own = got is not None and got.modified >= began
        if not own and not recent.get(key[:-1], False):
            result.damaged = b"/".join(key)
            return result
        if got is None and wanted is not None and wanted.kind == b"d":
            recent[key] = True
        result.changed_meanwhile += 1
    return result


def _is_same(wanted: Entry, got: Entry, *, hashes: bool) -> bool:
    same = (wanted.kind, wanted.mode) == (got.kind, got.mode) or wanted.kind == got.kind == b"l"
    if not hashes:
        return same and (wanted.kind != b"f" or wanted.size == got.size)
    return same and (wanted.size, wanted.hash) == (got.size, got.hash)


def _merge(listed: Iterable[Entry], found: Iterable[Entry]) -> Iterator[tuple[Entry | None, Entry | None]]:
    """Pairs with the same key, in order."""
    left, right = iter(listed), iter(found)
    one, other = next(left, None), next(right, None)
    while one is not None or other is not None:
        if other is None or (one is not None and one.key < other.key):
            yield one, None
            one = next(left, None)
        elif one is None or other.key < one.key:
            yield None, other
            other = next(right, None)
        else:
            yield one, other
            one, other = next(left, None), next(right, None)
