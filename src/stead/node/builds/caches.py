"""What a build keeps for the next one of the same site: npm's cache, on a disk of its own. No other site ever
sees it, and npm checks what it takes from there against the lock file."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stead.node.builds.caps import MB, Caps, SandboxBroken
from stead.node.builds.disks import Disks, is_full, mounted_below, used_mb
from stead.node.drivers.layout import identifier
from stead.node.images.making import UID
from stead.node.uninterrupted import in_thread, uninterrupted

WORTH_KEEPING = 0.6
"""A cache that is fuller than this begins anew, before a build runs into its end."""


class Caches:
    """`<site>.ext4`, and `<site>.lent` while a build has it: one that a crash left so is thrown away."""

    def __init__(self, home: Path, disks: Disks, caps: Caps) -> None:
        self._home, self._disks, self._caps = home / "caches", disks, caps
        self._home.mkdir(parents=True, exist_ok=True, mode=0o711)

    @asynccontextmanager
    async def lent(self, site: str, place: Path, uid: int) -> AsyncIterator[Path | None]:
        """Mounted at `place`; None when another build of the site has it."""
        kept = self._home / f"{identifier(site)}.ext4"
        lent = kept.with_suffix(".lent")
        if lent.exists():
            yield None
            return
        _begin(lent, place)
        try:
            await self._mounted(kept, lent, place, uid)
            yield place
        finally:
            # Also of a build that failed: npm puts things there whole or not at all.
            await uninterrupted(self._returned(kept, lent, place))
        await in_thread(self._prune)

    async def _mounted(self, kept: Path, lent: Path, place: Path, uid: int) -> None:
        if not await in_thread(_taken, kept, lent) or not await self._tried(lent, place):
            await in_thread(lent.unlink)
            await self._disks.make(lent, self._caps.cache_mb)
            await self._disks.mount(lent, place)
        await in_thread(_give, place, uid + UID)

    async def _tried(self, lent: Path, place: Path) -> bool:
        try:
            await self._disks.mount(lent, place)
        except SandboxBroken:
            return False
        return True

    async def _returned(self, kept: Path, lent: Path, place: Path) -> None:
        keep = place in mounted_below(place) and self._worth_keeping(place)
        await self._disks.unmount(place)
        await in_thread(_kept, lent, kept if keep else None)

    def _worth_keeping(self, place: Path) -> bool:
        return not is_full(place) and used_mb(place) < self._caps.cache_mb * WORTH_KEEPING

    def _prune(self) -> None:
        """The caches of all sites stay within their bound; those longest unused go first."""
        files = sorted(self._home.glob("*.ext4"), key=lambda path: path.stat().st_mtime, reverse=True)
        total = 0
        for file in files:
            total += file.stat().st_blocks * 512
            if total > self._caps.caches_mb * MB:
                file.unlink(missing_ok=True)


def _begin(lent: Path, place: Path) -> None:
    lent.touch()
    place.mkdir()


def _taken(kept: Path, lent: Path) -> bool:
    """Whether there was something."""
    try:
        kept.replace(lent)
    except FileNotFoundError:
        return False
    return True


def _kept(lent: Path, kept: Path | None) -> None:
    if kept is not None:
        lent.replace(kept)
    else:
        lent.unlink(missing_ok=True)


def _give(place: Path, uid: int) -> None:
    """Another build may have another range of users; all of a build's files are of one."""
    if place.stat().st_uid == uid:
        return
    for _, folders, files, descriptor in os.fwalk(place):
        for name in (*folders, *files):
            os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)
    os.chown(place, uid, uid)
