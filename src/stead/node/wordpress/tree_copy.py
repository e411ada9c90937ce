"""Copies the files of one environment to the disk of another, while the first one may change them.

The files belong to customers, and root copies them. So every directory and file is opened relative to its
directory, and links are never followed: a link is copied as a link. Files are never hard links of each
other, because a plugin that writes into a file would change both. Where the file system can share blocks
between files (reflinks), nothing is copied.
"""

import errno
import fcntl
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

MAX_DEPTH = 200
MAX_FILES = 5_000_000
_CHUNK = 8 << 20
_FICLONE = 0x40049409
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NO_REFLINK = {errno.EXDEV, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOTTY, errno.EPERM}


class CopyFailed(Exception):
    """The message says why."""


class CopyStopped(Exception):
    """Somebody has set `TreeCopy.stopped`."""


@dataclass
class TreeSize:
    bytes: int = 0
    files: int = 0
    """Names of files; a file may have several."""


@dataclass
class TreeCopy:
    """Blocks; run it in a thread. `owner` is the user that owns the copies. `left_out` names directories of
    the top that are made, but not filled."""

    source: Path
    target: Path
    owner: int
    left_out: Collection[str] = ()
    only_missing: bool = False
    """Whether a file that the target has stays as it is."""
    scratch: Path | None = None
    """A directory on the disk of the target, and not in it, for files that are not complete. It exists only
    while files are copied; what an interrupted copy has left there is removed. Without it, they are in the
    directory that they are copied to."""
    bytes: int = 0
    """How much was copied or read. Read it from another thread."""
    stopped: bool = False
    _scratch: int | None = field(default=None, init=False, repr=False)

    def measure(self) -> TreeSize:
        """How much there is to copy. The files may change meanwhile."""
        size = TreeSize()
        with _open_directory(self.source) as top:
            self._measure(top, size, 0)
        return size

    def run(self) -> None:
        """Copy what the target does not have, or has with another size or modification time. Run it a second
        time to copy what has changed meanwhile. Files that only the target has stay. Raises CopyFailed or
        CopyStopped."""
        self.target.mkdir(exist_ok=True)
        with (
            _open_directory(self.source) as source,
            _open_directory(self.target) as target,
            self._open_scratch(),
        ):
            self._copy_directory(source, target, 0)

    @contextmanager
    def _open_scratch(self) -> Iterator[None]:
        if self.scratch is None:
            yield
            return
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(mode=0o700)
        try:
            with _open_directory(self.scratch) as self._scratch:
                yield
        finally:
            self._scratch = None
            shutil.rmtree(self.scratch, ignore_errors=True)

    def read_all(self) -> int:
        """Read the content of every file of the source; return how many there are. Raises OSError."""
        with _open_directory(self.source) as top:
            return self._read_all(top, 0)

    def _read_all(self, directory: int, depth: int) -> int:
        count = 0
        for name, status in self._entries(directory, depth):
            with suppress(FileNotFoundError, NotADirectoryError):
                if stat.S_ISDIR(status.st_mode):
                    with _open_below(directory, name) as below:
                        count += self._read_all(below, depth + 1)
                elif stat.S_ISREG(status.st_mode):
                    descriptor = os.open(name, _FILE, dir_fd=directory)
                    try:
                        while piece := os.read(descriptor, _CHUNK):
                            self.bytes += len(piece)
                            self._check()
                    finally:
                        os.close(descriptor)
                    count += 1
        return count

    def _measure(self, directory: int, size: TreeSize, depth: int) -> None:
        for name, status in self._entries(directory, depth):
            if stat.S_ISREG(status.st_mode):
                size.files += 1
                if size.files > MAX_FILES:
                    raise CopyFailed(f"there are more than {MAX_FILES} files")
                # A sparse file has fewer blocks than bytes, and its copy is sparse, too.
                size.bytes += min(status.st_size, status.st_blocks * 512)
            elif stat.S_ISDIR(status.st_mode) and not (depth == 0 and name in self.left_out):
                with suppress(FileNotFoundError, NotADirectoryError), _open_below(directory, name) as below:
                    self._measure(below, size, depth + 1)

    def _copy_directory(self, source: int, target: int, depth: int) -> None:
        for name, status in self._entries(source, depth):
            # What was removed or replaced meanwhile is left to the second run.
            with suppress(FileNotFoundError, NotADirectoryError):
                if stat.S_ISDIR(status.st_mode):
                    self._copy_below(source, target, name, depth)
                elif stat.S_ISREG(status.st_mode):
                    self._copy_file(source, target, name, status)
                elif stat.S_ISLNK(status.st_mode) and not (self.only_missing and _exists(target, name)):
                    self._copy_link(source, target, name)
        status = os.fstat(source)
        os.fchown(target, self.owner, self.owner)
        os.fchmod(target, stat.S_IMODE(status.st_mode) & 0o777)

    def _copy_below(self, source: int, target: int, name: str, depth: int) -> None:
        if self.only_missing and _exists(target, name) and not _is_directory(target, name):
            return
        with _open_below(source, name) as from_:
            _remove_unless(target, name, stat.S_ISDIR)
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=target)
            with _open_below(target, name) as to:
                if depth == 0 and name in self.left_out:
                    os.fchown(to, self.owner, self.owner)
                    os.fchmod(to, 0o755)
                else:
                    self._copy_directory(from_, to, depth + 1)

    def _copy_file(self, source: int, target: int, name: str, listed: os.stat_result) -> None:
        if _is_same(target, name, listed) or (self.only_missing and _exists(target, name)):
            return
        try:
            from_ = os.open(name, _FILE, dir_fd=source)
        except OSError as error:
            if error.errno == errno.ELOOP:
                return
            raise
        temporary, place = f".stead-{token_hex(8)}", target if self._scratch is None else self._scratch
        try:
            status = os.fstat(from_)
            if not stat.S_ISREG(status.st_mode):
                return
            to = os.open(temporary, _NEW, 0o600, dir_fd=place)
            try:
                self._copy_content(from_, to, status.st_size)
                os.fchown(to, self.owner, self.owner)
                os.fchmod(to, stat.S_IMODE(status.st_mode) & 0o777)
                # The time from before the copy: a file that was written meanwhile is copied again.
                os.utime(to, ns=(status.st_mtime_ns, status.st_mtime_ns))
                _remove_unless(target, name, stat.S_ISREG)
                os.rename(temporary, name, src_dir_fd=place, dst_dir_fd=target)
            except BaseException:
                os.unlink(temporary, dir_fd=place)
                raise
            finally:
                os.close(to)
        finally:
            os.close(from_)

    def _copy_content(self, source: int, target: int, size: int) -> None:
        try:
            fcntl.ioctl(target, _FICLONE, source)
        except OSError as error:
            if error.errno not in _NO_REFLINK:
                raise
        else:
            self.bytes += size
            return
        os.ftruncate(target, size)
        for begin, end in _filled_parts(source, size):
            position = begin
            while position < end:
                self._check()
                count = _copy_range(source, target, position, min(_CHUNK, end - position))
                if count == 0:
                    # It is shorter now; the second run copies it again.
                    return
                position += count
                self.bytes += count

    def _copy_link(self, source: int, target: int, name: str) -> None:
        try:
            destination = os.readlink(name, dir_fd=source)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return
            raise
        _remove_unless(target, name, lambda _: False)
        os.symlink(destination, name, dir_fd=target)
        os.chown(name, self.owner, self.owner, dir_fd=target, follow_symlinks=False)

    def _entries(self, directory: int, depth: int) -> Iterator[tuple[str, os.stat_result]]:
        """Sockets, pipes and devices are left out: they are no content."""
        if depth > MAX_DEPTH:
            raise CopyFailed(f"the files are in more than {MAX_DEPTH} levels of directories")
        # Not a list: names cost a customer nothing, and there may be millions of them in a directory.
        with os.scandir(directory) as entries:
            for entry in entries:
                self._check()
                with suppress(FileNotFoundError):
                    yield entry.name, entry.stat(follow_symlinks=False)

    def _check(self) -> None:
        if self.stopped:
            raise CopyStopped


@contextmanager
def _open_directory(path: Path) -> Iterator[int]:
    descriptor = os.open(path, _DIRECTORY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


@contextmanager
def _open_below(directory: int, name: str) -> Iterator[int]:
    descriptor = os.open(name, _DIRECTORY, dir_fd=directory)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _exists(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def _is_directory(directory: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode)


def _is_same(directory: int, name: str, wanted: os.stat_result) -> bool:
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    same = (found.st_size, found.st_mtime_ns) == (wanted.st_size, wanted.st_mtime_ns)
    return stat.S_ISREG(found.st_mode) and same


def _remove_unless(directory: int, name: str, is_wanted: Callable[[int], bool]) -> None:
    """Remove what is in the way because it was of another kind in the first run."""
    try:
        found = os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return
    if is_wanted(found.st_mode):
        return
    if stat.S_ISDIR(found.st_mode):
        _remove_tree(directory, name)
    else:
        os.unlink(name, dir_fd=directory)


def _remove_tree(directory: int, name: str) -> None:
    with _open_below(directory, name) as below:
        for each in os.listdir(below):  # noqa: PTH208
            _remove_unless(below, each, lambda _: False)
    os.rmdir(name, dir_fd=directory)


def _filled_parts(descriptor: int, size: int) -> Iterator[tuple[int, int]]:
    """The parts of a file that are not holes."""
    position = 0
    while position < size:
        try:
            begin = os.lseek(descriptor, position, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return
            raise
        end = min(os.lseek(descriptor, begin, os.SEEK_HOLE), size)
        if end <= begin:
            return
        yield begin, end
        position = end


def _copy_range(source: int, target: int, position: int, count: int) -> int:
    try:
        return os.copy_file_range(source, target, count, position, position)
    except OSError as error:
        if error.errno not in (errno.EXDEV, errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
    return os.pwrite(target, os.pread(source, count, position), position)
