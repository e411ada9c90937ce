"""A tree read in one order on every machine, by descriptors, so that nothing outside of it can be met."""

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
# Not blocking: what was a file a moment ago may be a pipe that nobody writes to.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_HOPS = 40


@dataclass(frozen=True, slots=True)
class TreeEntry:
    path: str
    kind: EntryKind
    size: int = 0
    executable: bool = False
    descriptor: int = -1
    """Of a file, open until the next one is asked for."""


class TreeWalk:
    def __init__(self, tree: Path, limits: SizeLimits) -> None:
        self._tree, self._limits = tree, limits
        self._names = EntryNames(limits)
        self._bytes = 0
        self._root = -1

    def __iter__(self) -> Iterator[TreeEntry]:
        """Directories before what is in them; within one, by the bytes of the names."""
        with _opened("", os.fspath(self._tree), _DIRECTORY, None) as self._root:
            yield from self._directory(self._root, "")

    def _directory(self, descriptor: int, above: str) -> Iterator[TreeEntry]:
        before = _fingerprint(os.fstat(descriptor))
        with os.scandir(descriptor) as listing:
            entries = sorted(listing, key=lambda entry: os.fsencode(entry.name))
        for entry in entries:
            path = above + entry.name
            if entry.is_dir(follow_symlinks=False):
                self._place(entry.name, path, EntryKind.DIRECTORY)
                yield TreeEntry(path, EntryKind.DIRECTORY)
                with _opened(path, entry.name, _DIRECTORY, descriptor) as inner:
                    yield from self._directory(inner, path + "/")
            elif entry.is_symlink():
                self._place(entry.name, path, EntryKind.FILE)
                yield from self._target(path)
            else:
                self._place(entry.name, path, EntryKind.FILE)
                with _opened(path, entry.name, _FILE, descriptor) as file:
                    yield from self._file(path, file)
        if _fingerprint(os.fstat(descriptor)) != before:
            raise TreeRefused("tree.changed", "the directory changed while it was packed", above or ".")

    def _place(self, name: str, path: str, kind: EntryKind) -> None:
        try:
            check_part(name)
            self._names.add(path, kind)
        except NameRefused as refused:
            code: TreeCode = "tree.too_large" if refused.large else "tree.unsafe"
            raise TreeRefused(code, str(refused), os.fsencode(path)) from None

    def _file(self, path: str, descriptor: int) -> Iterator[TreeEntry]:
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

    def _target(self, path: str) -> Iterator[TreeEntry]:
        """The file that a link inside the tree stands for. Each step is looked up from the root, without `..`
        of the file system: where a link really leads is decided here, not by the kernel."""
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
            with self._parent(path, at) as parent:
                link = _link(part, parent)
            if link is None:
                at.append(part)
                continue
            hops += 1
            if hops > _HOPS:
                raise TreeRefused("tree.unsafe", "the link leads in a circle", path)
            if link.startswith("/"):
                raise TreeRefused("tree.unsafe", "the link is absolute", path)
            rest = link.split("/") + rest
        with (
            self._parent(path, at[:-1]) as parent,
            _opened(path, at[-1] if at else ".", _FILE, parent, "tree.unsafe") as file,
        ):
            if stat.S_ISDIR(os.fstat(file).st_mode):
                raise TreeRefused("tree.unsafe", "the link leads to a directory", path)
            yield from self._file(path, file)

    @contextmanager
    def _parent(self, path: str, parts: list[str]) -> Iterator[int]:
        descriptor = os.dup(self._root)
        try:
            for part in parts:
                with _opened(path, part, _DIRECTORY, descriptor, "tree.unsafe") as inner:
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
def _opened(
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


def _link(name: str, parent: int) -> str | None:
    """Where it leads; None for what is no link."""
    try:
        return os.readlink(name, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOENT, errno.ENOTDIR):
            return None
        raise


def _fingerprint(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
