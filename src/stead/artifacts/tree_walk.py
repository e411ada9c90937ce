"""Reads a tree in the same order on every machine, through descriptors, so that it cannot leave the tree."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stead.artifacts.limits import SizeLimits
from stead.artifacts.names import EntryKind, EntryNames, NameRefused, check_part
from stead.artifacts.refusals import TreeCode, TreeRefused

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Non-blocking: the file may have been replaced by a pipe without a writer.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_MAX_HOPS = 40


@dataclass(frozen=True, slots=True)
class TreeEntry:
    path: str
    kind: EntryKind
    size: int = 0
    executable: bool = False
    descriptor: int = -1
    """The open file; it is closed before the next entry."""


class TreeWalk:
    def __init__(self, tree: Path, limits: SizeLimits) -> None:
        self._tree, self._limits = tree, limits
        self._names = EntryNames(limits)
        self._bytes = 0
        self._root = -1

    def __iter__(self) -> Iterator[TreeEntry]:
        """Each directory before its content; the content sorted by the bytes of the names."""
        with _open_descriptor("", os.fspath(self._tree), _DIRECTORY, None) as self._root:
            yield from self._walk_directory(self._root, "")

    def _walk_directory(self, descriptor: int, prefix: str) -> Iterator[TreeEntry]:
        before = _fingerprint(os.fstat(descriptor))
        with os.scandir(descriptor) as listing:
            entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
        for entry in entries:
            path = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                self._add_name(entry.name, path, EntryKind.DIRECTORY)
                yield TreeEntry(path, EntryKind.DIRECTORY)
                with _open_descriptor(path, entry.name, _DIRECTORY, descriptor) as inner:
                    yield from self._walk_directory(inner, path + "/")
            elif entry.is_symlink():
                self._add_name(entry.name, path, EntryKind.FILE)
                yield from self._follow_link(path)
            else:
                self._add_name(entry.name, path, EntryKind.FILE)
                with _open_descriptor(path, entry.name, _FILE, descriptor) as file:
                    yield from self._check_file(path, file)
        if _fingerprint(os.fstat(descriptor)) != before:
            raise TreeRefused("tree.changed", "the directory changed while it was packed", prefix or ".")

    def _add_name(self, name: str, path: str, kind: EntryKind) -> None:
        try:
            check_part(name)
            self._names.add(path, kind)
        except NameRefused as refused:
            code: TreeCode = "tree.too_large" if refused.large else "tree.unsafe"
            raise TreeRefused(code, str(refused), os.fsencode(path)) from None

    def _check_file(self, path: str, descriptor: int) -> Iterator[TreeEntry]:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise TreeRefused("tree.unsafe", "it is neither a file nor a directory", path)
        self._bytes += status.st_size
        if status.st_size > self._limits.file_bytes:
            raise TreeRefused("tree.too_large", f"it is larger than {self._limits.file_bytes} bytes", path)
        if self._bytes > self._limits.total_bytes:
            raise TreeRefused(
                "tree.too_large", f"the tree is larger than {self._limits.total_bytes} bytes", path
            )
        yield TreeEntry(path, EntryKind.FILE, status.st_size, bool(status.st_mode & stat.S_IXUSR), descriptor)
        if _fingerprint(os.fstat(descriptor)) != _fingerprint(status):
            raise TreeRefused("tree.changed", "the file changed while it was packed", path)

    def _follow_link(self, path: str) -> Iterator[TreeEntry]:
        """The file that a link inside the tree leads to. Each step is looked up from the root, and `..` is
        resolved here: the target of a link is decided by this code and not by the kernel."""
        at: list[str] = []
        rest, hops = path.split("/"), 0
        while rest:
            part = rest.pop(0)
            if part == "..":
                if not at:
                    raise TreeRefused("tree.unsafe", "the link leaves the tree", path)
                at.pop()
                continue
            if part in ("", "."):
                continue
            with self._open_parent(path, at) as parent:
                link = _read_link(part, parent)
            if link is None:
                at.append(part)
                continue
            hops += 1
            if hops > _MAX_HOPS:
                raise TreeRefused("tree.unsafe", "the link leads in a circle", path)
            if link.startswith("/"):
                raise TreeRefused("tree.unsafe", "the link is absolute", path)
            rest = link.split("/") + rest
        with (
            self._open_parent(path, at[:-1]) as parent,
            _open_descriptor(path, at[-1] if at else ".", _FILE, parent, "tree.unsafe") as file,
        ):
            if stat.S_ISDIR(os.fstat(file).st_mode):
                raise TreeRefused("tree.unsafe", "the link leads to a directory", path)
            yield from self._check_file(path, file)

    @contextmanager
    def _open_parent(self, path: str, parts: list[str]) -> Iterator[int]:
        descriptor = os.dup(self._root)
        try:
            for part in parts:
                with _open_descriptor(path, part, _DIRECTORY, descriptor, "tree.unsafe") as inner:
                    os.close(descriptor)
                    descriptor = os.dup(inner)
            yield descriptor
        finally:
            os.close(descriptor)


_REASONS = {
    errno.ENOENT: "what it names is not there",
    errno.ENOTDIR: "what it names is not there",
    errno.ELOOP: "it became a link while the tree was packed",
    errno.EACCES: "it may not be read",
    errno.ENXIO: "it is neither a file nor a directory",
}
_MISSING = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


@contextmanager
def _open_descriptor(
    path: str, name: str, flags: int, parent: int | None, missing: TreeCode = "tree.changed"
) -> Iterator[int]:
    try:
        descriptor = os.open(name, flags, dir_fd=parent)
    except OSError as error:
        if error.errno not in _REASONS:
            raise
        code = missing if error.errno in _MISSING else "tree.unsafe"
        raise TreeRefused(code, _REASONS[error.errno], path or ".") from None
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _read_link(name: str, parent: int) -> str | None:
    """The target of a link; None for anything else."""
    try:
        return os.readlink(name, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
            return None
        raise


def _fingerprint(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
