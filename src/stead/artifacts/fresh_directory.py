"""A directory in the making: beside its place and out of sight until it is whole, then there by one rename.

Everything is done relative to descriptors of directories that were opened without following links, so
whatever somebody does to the tree meanwhile, nothing is ever written outside of it.
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
    def __init__(self, place: Path) -> None:
        self._place = place
        self._name = f".{place.name}.{token_hex(8)}"
        self._parent = self._root = -1
        self._open: list[tuple[str, int]] = []
        self._kept = False

    def __enter__(self) -> Self:
        self._parent = os.open(self._place.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            if self._taken():
                raise FileExistsError(f"{self._place.name} is there already")
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
        if not self._kept:
            shutil.rmtree(self._name, dir_fd=self._parent)
        os.close(self._parent)

    def directory(self, path: str) -> None:
        self._enter(path.split("/"))

    def file(self, path: str, pieces: Iterable[bytes], *, executable: bool = False) -> None:
        *above, name = path.split("/")
        descriptor = os.open(name, _FILE, 0o600, dir_fd=self._enter(above))
        try:
            for piece in pieces:
                _write(descriptor, piece)
            os.fchmod(descriptor, 0o755 if executable else 0o644)
        finally:
            os.close(descriptor)

    def link(self, path: str, target: str) -> None:
        *above, name = path.split("/")
        os.symlink(target, name, dir_fd=self._enter(above))

    def keep(self, only: str | None = None) -> None:
        """On disk, then in its place; with `only`, the directory of that name in it takes the place."""
        root = self._enter([] if only is None else [only])
        os.fchmod(root, 0o755)
        _sync_all(root)
        if self._taken():
            raise FileExistsError(f"{self._place.name} is there already")
        if only is None:
            os.rename(self._name, self._place.name, src_dir_fd=self._parent, dst_dir_fd=self._parent)
            self._kept = True
        else:
            os.rename(only, self._place.name, src_dir_fd=self._root, dst_dir_fd=self._parent)
        os.fsync(self._parent)

    def _taken(self) -> bool:
        with contextlib.suppress(FileNotFoundError):
            os.stat(self._place.name, dir_fd=self._parent, follow_symlinks=False)
            return True
        return False

    def _enter(self, parts: Sequence[str]) -> int:
        """The descriptor of a directory, made if it is not there. The way to the last one is kept open."""
        depth = 0
        for (known, _), part in zip(self._open, parts, strict=False):
            if known != part:
                break
            depth += 1
        self._close_to(depth)
        for part in parts[depth:]:
            above = self._open[-1][1] if self._open else self._root
            with contextlib.suppress(FileExistsError):
                os.mkdir(part, 0o700, dir_fd=above)
            descriptor = os.open(part, _DIRECTORY, dir_fd=above)
            self._open.append((part, descriptor))
            os.fchmod(descriptor, 0o755)
        return self._open[-1][1] if self._open else self._root

    def _close_to(self, depth: int) -> None:
        while len(self._open) > depth:
            os.close(self._open.pop()[1])


def _write(descriptor: int, piece: bytes) -> None:
    done = os.write(descriptor, piece)
    while done < len(piece):
        done += os.write(descriptor, piece[done:])


def _sync_all(descriptor: int) -> None:
    """Its whole file system at once: a flush for each of ten thousand files would take a minute."""
    if _libc.syncfs(descriptor):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
