"""Disks of bounded size: an ext4 in a sparse file, mounted by a loop device. What a build writes can fill its
own disk and no other."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stead.node.builds.caps import MB, SandboxBroken
from stead.node.processes import Run, Stream
from stead.node.uninterrupted import uninterrupted

FULL = 0.02
"""With less than this free, what failed failed for want of room."""


@dataclass(frozen=True)
class Disks:
    run: Run

    async def make(self, file: Path, megabytes: int) -> None:
        _sparse(file, megabytes)
        # Without a journal and reserved blocks: after a crash it is thrown away, never mended.
        options = ("-O", "^has_journal", "-m", "0", "-E", "lazy_itable_init=1,nodiscard,root_owner=0:0")
        await self.tool("mkfs.ext4", "-q", "-F", *options, str(file))

    async def mount(self, file: Path, place: Path) -> None:
        """At a directory."""
        await uninterrupted(
            self.tool("mount", "-t", "ext4", "-o", "loop,nosuid,nodev,noatime", str(file), str(place))
        )

    async def unmount(self, place: Path) -> None:
        """Fine when it is not mounted."""
        if place in mounted_below(place):
            await self.tool("umount", str(place))

    async def tool(self, *argv: str) -> None:
        said: list[bytes] = []

        async def sink(_: Stream, data: bytes) -> None:
            said.append(data)

        if code := await self.run(argv, sink):
            reason = b"".join(said).decode(errors="replace").strip()
            raise SandboxBroken(f"{Path(argv[0]).name} ended with {code}: {reason[-500:]}")


def _sparse(file: Path, megabytes: int) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as sparse:
        sparse.truncate(megabytes * MB)


def mounted_below(place: Path) -> Sequence[Path]:
    """Innermost first."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [Path(_unescaped(line.split()[4])) for line in lines]
    return [point for point in reversed(points) if point.is_relative_to(place)]


def is_full(place: Path) -> bool:
    room = os.statvfs(place)
    return room.f_bavail < room.f_blocks * FULL or room.f_favail < room.f_files * FULL


def used_mb(place: Path) -> int:
    room = os.statvfs(place)
    return (room.f_blocks - room.f_bfree) * room.f_frsize // MB


def _unescaped(text: str) -> str:
    return text.encode().decode("unicode_escape")
