"""Creates a directory with its content: under a hidden name beside its destination, renamed when it is
complete.

All operations are relative to descriptors of directories that were opened without following links. So nothing
is written outside of the directory, even if another process changes the tree meanwhile.
"""

import contextlib
import ctypes
import os
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from secrets import token_hex
from types import TracebackType
from typing import Self

_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC

_libc = ctypes.CDLL(None, use_errno=True)


class FreshDirectory:
    def __init__(self, destination: Path) -> None:
        self._destination = destination
        self._name = f".{destination.name}.{token_hex(8)}"
        self._parent = self._root = -1
        self._open: list[tuple[str, int]] = []
        self._complete = False

    def __enter__(self) -> Self:
        self._parent = os.open(self._destination.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if self._destination_exists():
                raise FileExistsError(f"{self._destination.name} is there already")
            os.mkdir(self._name, 0o700, dir_fd=self._parent)
            self._root = os.open(self._name, _DIRECTORY, dir_fd=self._parent)
        except OSError:
            os.close(self._parent)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close_to(0)
        os.close(self._root)
        if not self._complete:
            shutil.rmtree(self._name, dir_fd=self._parent)
        os.close(self._parent)

    @property
    def path(self) -> Path:
        """Where it is until it is renamed."""
        return self._destination.with_name(self._name)

    def add_directory(self, path: str) -> None:
        self._open_directory(path.split("/"))

    def add_file(self, path: str, chunks: Iterable[bytes], *, executable: bool = False) -> None:
        *parents, name = path.split("/")
        descriptor = os.open(name, _FILE, 0o600, dir_fd=self._open_directory(parents))
        try:
            for chunk in chunks:
                _write(descriptor, chunk)
            os.fchmod(descriptor, 0o755 if executable else 0o644)
        finally:
            os.close(descriptor)

    def add_link(self, path: str, target: str) -> None:
        *parents, name = path.split("/")
        os.symlink(target, name, dir_fd=self._open_directory(parents))

    def finish(self, only: str | None = None) -> None:
        """Flush everything to disk, then rename. With `only`, rename just the subdirectory of that name."""
        root = self._open_directory([] if only is None else [only])
        os.fchmod(root, 0o755)
        _sync_all(root)
        if self._destination_exists():
            raise FileExistsError(f"{self._destination.name} is there already")
        if only is None:
            os.rename(self._name, self._destination.name, src_dir_fd=self._parent, dst_dir_fd=self._parent)
            self._complete = True
        else:
            os.rename(only, self._destination.name, src_dir_fd=self._root, dst_dir_fd=self._parent)
        os.fsync(self._parent)

    def _destination_exists(self) -> bool:
        with contextlib.suppress(FileNotFoundError):
            os.stat(self._destination.name, dir_fd=self._parent, follow_symlinks=False)
            return True
        return False

    def _open_directory(self, parts: Sequence[str]) -> int:
        """The descriptor of a directory, which is created if it is missing. The descriptors on the path to it
        stay open for the next call."""
        depth = 0
        for (known, _), part in zip(self._open, parts, strict=False):
            if known != part:
                break
            depth += 1
        self._close_to(depth)
        for part in parts[depth:]:
            parent = self._open[-1][1] if self._open else self._root
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=parent)
            descriptor = os.open(part, _DIRECTORY, dir_fd=parent)
            self._open.append((part, descriptor))
            os.fchmod(descriptor, 0o755)
        return self._open[-1][1] if self._open else self._root

    def _close_to(self, depth: int) -> None:
        while len(self._open) > depth:
            os.close(self._open.pop()[1])


def _write(descriptor: int, data: bytes) -> None:
    done = os.write(descriptor, data)
    while done < len(data):
        done += os.write(descriptor, data[done:])


def _sync_all(descriptor: int) -> None:
    """Flush the whole file system at once: flushing ten thousand files one by one would take a minute."""
    if _libc.syncfs(descriptor):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
