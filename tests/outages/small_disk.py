"""Gives a program a small disk of its own, which a test can fill."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

MB = 1 << 20


class SmallDisk:
    def __init__(self, path: Path) -> None:
        self._path = path
        self._filler = path / "filler"

    @property
    def free(self) -> int:
        space = os.statvfs(self._path)
        return space.f_bavail * space.f_frsize

    def fill(self, *, leave: int = 0) -> None:
        """Use all space except so many bytes."""
        with self._filler.open("ab") as file:
            while (more := self.free - leave) > 0:
                try:
                    os.posix_fallocate(file.fileno(), file.tell(), more)
                except OSError:
                    return
                file.seek(0, os.SEEK_END)

    def empty(self) -> None:
        self._filler.unlink(missing_ok=True)


@contextmanager
def small_disk(path: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Move a directory to a file system of this size, and back at the end. Nobody may use it meanwhile: the
    programs that do are stopped before this starts, and before it ends."""
    if os.geteuid() != 0:
        pytest.skip("mounting needs root")
    kept = path.with_name(f"{path.name}.kept")
    _run("/bin/mv", str(path), str(kept))
    path.mkdir()
    _run("/bin/mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", str(path))
    try:
        _run("/bin/cp", "-a", f"{kept}/.", str(path))
        disk = SmallDisk(path)
        yield disk
        disk.empty()
        _run("/bin/rm", "-r", str(kept))
        kept.mkdir()
        _run("/bin/cp", "-a", f"{path}/.", str(kept))
    finally:
        _run("/bin/umount", "--lazy", str(path))
        path.rmdir()
        kept.rename(path)


def _run(*command: str) -> None:
    subprocess.run(command, check=True)
