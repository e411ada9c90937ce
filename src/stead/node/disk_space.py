"""The free space of a node's disk. Below a watermark the node accepts no new content, so that a full disk
stops neither its journal nor the sites that it serves."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from stead.node.drivers.driver import Refusal

MB = 1 << 20
CODE = "node.short_of_space"
MIN_FREE_MB = 2048
_MIN_FREE_FILES = 20_000


@dataclass(frozen=True)
class DiskUsage:
    size: int
    free: int
    files_free: int
    """-1 if the file system does not limit the number of files."""


class DiskSpace:
    def __init__(self, directory: Path, min_free_mb: int = MIN_FREE_MB) -> None:
        self._directory, self._min_free = directory, min_free_mb * MB
        self._reserved = 0

    @property
    def is_short(self) -> bool:
        return not self._has_room(0)

    @property
    def usage(self) -> DiskUsage:
        """What the file system says, whatever is reserved. Sizes are in bytes."""
        space = os.statvfs(self._directory)
        return DiskUsage(
            space.f_blocks * space.f_frsize,
            space.f_bavail * space.f_frsize,
            space.f_favail if space.f_files else -1,
        )

    @contextmanager
    def reserve(self, count: int) -> Iterator[None]:
        """Refuse work that would use so many bytes if they are not free. Work at the same time counts with
        all that it may still use."""
        if not self._has_room(count):
            raise Refusal(CODE, "the node is short of disk space; what it serves is not affected")
        self._reserved += count
        try:
            yield
        finally:
            self._reserved -= count

    def _has_room(self, count: int) -> bool:
        space = os.statvfs(self._directory)
        # Some file systems do not limit the number of files, and report none.
        if space.f_files and space.f_favail < _MIN_FREE_FILES:
            return False
        return space.f_bavail * space.f_frsize - self._reserved - count >= self._min_free
