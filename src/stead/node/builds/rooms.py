"""A room for each build: its own disk and its own range of users. Nothing of it stays, whether it ends, is
cancelled, or the node is killed meanwhile."""

import asyncio
import hashlib
import os
import shutil
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from secrets import token_hex

from stead.node.builds import cgroups
from stead.node.builds.caps import Caps, first_uid
from stead.node.builds.disks import Disks, mounted_below
from stead.node.builds.sandbox import Room
from stead.node.images.making import UID
from stead.node.uninterrupted import in_thread, uninterrupted


class Rooms:
    def __init__(self, home: Path, disks: Disks, caps: Caps) -> None:
        self._home, self._disks, self._caps = home / "rooms", disks, caps
        self._home.mkdir(parents=True, exist_ok=True)
        # The kernel must find its way for a mapped user; the names in it are nobody's to guess.
        for path in (home, self._home):
            path.chmod(0o711)
        self._free: asyncio.Queue[int] = asyncio.Queue()
        for slot in range(caps.at_once):
            self._free.put_nowait(slot)

    @property
    def all_taken(self) -> bool:
        return self._free.empty()

    @asynccontextmanager
    async def taken(self) -> AsyncIterator[Room]:
        slot = await self._free.get()
        try:
            room = Room(self._home / token_hex(8), first_uid(slot))
            room.place.mkdir(mode=0o711)
            try:
                await self._furnish(room)
                yield room
            finally:
                await uninterrupted(self._clear(room))
        finally:
            self._free.put_nowait(slot)

    async def _furnish(self, room: Room) -> None:
        disk = room.place / "disk"
        await self._disks.make(disk, self._caps.disk_mb)
        room.work.mkdir()
        await self._disks.mount(disk, room.work)
        shutil.rmtree(room.work / "lost+found")
        for place in (room.source, room.home):
            place.mkdir(mode=0o755)
            os.chown(place, room.uid + UID, room.uid + UID)

    async def _clear(self, room: Room) -> None:
        await self._disks.unmount(room.work)
        await in_thread(shutil.rmtree, room.place)


def prefix_of(home: Path) -> str:
    """What the containers and groups of this node begin with; other nodes may share the machine."""
    return f"stead-build-{hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:10]}-"


def clear_leftovers(home: Path) -> int:
    """What a killed agent left of its builds is ended and removed; how many groups there were. Blocks."""
    state, left = home / "runc", sorted(cgroups.named(prefix_of(home)))
    for name in [*(path.name for path in state.glob("*")), *(group[1:] for group in left)]:
        subprocess.run(["runc", "--root", state, "delete", "--force", name], capture_output=True)  # noqa: S607
    for group in left:
        cgroups.end(group)
    for point in mounted_below(home):
        subprocess.run(["umount", point], check=True, capture_output=True)  # noqa: S607
    for room in (home / "rooms").glob("*"):
        shutil.rmtree(room)
    for file in (home / "caches").glob("*.lent"):
        file.unlink()
    return len(left)
