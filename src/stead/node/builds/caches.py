"""The cache of each environment: packages, on a disk of its own, kept from one build to the next.

Whoever can build an environment can change its cache, and not every package manager compares all of it with
the lock file. So no two environments share one: the builds of a branch must not reach those of production,
nor read what the packages of production stored while they had its secrets.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stead.node.builds.limits import BuildLimits
from stead.node.builds.trees import TooDeep, chown_tree
from stead.node.containers.disks import Disks, is_full, mounted_below, used_mb
from stead.node.containers.limits import MB, ContainerFailed
from stead.node.drivers.layout import check_identifier
from stead.node.uninterrupted import run_in_thread, run_uninterrupted

KEEP_BELOW = 0.6
"""A fuller cache is discarded, before a build fills it up."""


class Caches:
    """Files `<environment>.ext4`, renamed to `….in-use` while a build uses them. A file that a crash left in
    use is removed at the next start."""

    def __init__(self, home: Path, disks: Disks, limits: BuildLimits) -> None:
        self._home, self._disks, self._limits = home / "caches", disks, limits
        self._home.mkdir(parents=True, exist_ok=True, mode=0o711)

    @asynccontextmanager
    async def borrow(self, environment: str, directory: Path, owner: int) -> AsyncIterator[Path | None]:
        """Mount the cache at the directory; None when another build of the environment uses it."""
        kept = self._home / f"{check_identifier(environment)}.ext4"
        in_use = kept.with_suffix(".in-use")
        if in_use.exists():
            yield None
            return
        _reserve(in_use, directory)
        try:
            await self._mount(kept, in_use, directory, owner)
            yield directory
        finally:
            # Also after a failed build: npm writes whole entries or nothing.
            await run_uninterrupted(self._return(kept, in_use, directory))
        await run_in_thread(self._prune)

    async def _mount(self, kept: Path, in_use: Path, directory: Path, owner: int) -> None:
        if not await run_in_thread(_take, kept, in_use) or not await self._try_mount(in_use, directory):
            await self._begin_anew(in_use, directory)
        try:
            await run_in_thread(_ensure_owner, directory, owner)
        except TooDeep:
            await self._begin_anew(in_use, directory)
            await run_in_thread(_ensure_owner, directory, owner)

    async def _begin_anew(self, in_use: Path, directory: Path) -> None:
        await self._disks.unmount(directory)
        await run_in_thread(in_use.unlink)
        await self._disks.make(in_use, self._limits.cache_mb)
        await self._disks.mount(in_use, directory)

    async def _try_mount(self, in_use: Path, directory: Path) -> bool:
        try:
            await self._disks.mount(in_use, directory)
        except ContainerFailed:
            return False
        return True

    async def _return(self, kept: Path, in_use: Path, directory: Path) -> None:
        keep = directory in mounted_below(directory) and self._is_worth_keeping(directory)
        await self._disks.unmount(directory)
        if keep:
            await run_in_thread(in_use.replace, kept)
        else:
            await run_in_thread(in_use.unlink, missing_ok=True)

    def _is_worth_keeping(self, directory: Path) -> bool:
        return not is_full(directory) and used_mb(directory) < self._limits.cache_mb * KEEP_BELOW

    def _prune(self) -> None:
        """Keep all caches together within their limit; the longest unused are removed first."""
        files = sorted(self._home.glob("*.ext4"), key=lambda path: path.stat().st_mtime, reverse=True)
        total = 0
        for file in files:
            total += file.stat().st_blocks * 512
            if total > self._limits.all_caches_mb * MB:
                file.unlink(missing_ok=True)


def _reserve(in_use: Path, directory: Path) -> None:
    in_use.touch()
    directory.mkdir()


def _take(kept: Path, in_use: Path) -> bool:
    """Return whether there was a cache."""
    try:
        kept.replace(in_use)
    except FileNotFoundError:
        return False
    return True


def _ensure_owner(directory: Path, owner: int) -> None:
    """The build before may have had another range of users."""
    if directory.stat().st_uid != owner:
        chown_tree(directory, owner)
