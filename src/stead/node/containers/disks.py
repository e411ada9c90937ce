"""Disks of limited size: an ext4 file system in a sparse file, mounted through a loop device. A container can
fill its own disk and no other."""

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stead.node.containers.limits import MB, ContainerFailed
from stead.node.processes import Run, StreamName
from stead.node.uninterrupted import run_uninterrupted

FULL = 0.02
"""A disk with less free space than this fraction counts as full."""


@dataclass(frozen=True)
class Disks:
    run: Run

    async def make(self, file: Path, megabytes: int, *, durable: bool = False) -> None:
        """A disk that is not durable is discarded after a crash, never repaired: it has no journal."""
        _make_sparse(file, megabytes)
        journal = () if durable else ("-O", "^has_journal")
        options = (*journal, "-m", "0", "-E", "lazy_itable_init=1,nodiscard,root_owner=0:0")
        await self._run_tool("mkfs.ext4", "-q", "-F", *options, str(file))

    async def mount(self, file: Path, directory: Path) -> None:
        await run_uninterrupted(
            self._run_tool(
                "mount", "-t", "ext4", "-o", "loop,nosuid,nodev,noatime", str(file), str(directory)
            )
        )

    async def unmount(self, directory: Path, *, lazy: bool = False) -> None:
        """Succeeds when nothing is mounted there. With `lazy`, whoever has a file open can read it to its
        end."""
        if directory in mounted_below(directory):
            await self._run_tool("umount", *(["--lazy"] if lazy else []), str(directory))

    async def _run_tool(self, *argv: str) -> None:
        output: list[bytes] = []

        async def sink(_: StreamName, data: bytes) -> None:
            output.append(data)

        if code := await self.run(argv, sink):
            reason = b"".join(output).decode(errors="replace").strip()
            raise ContainerFailed(f"{Path(argv[0]).name} ended with {code}: {reason[-500:]}")


def _make_sparse(file: Path, megabytes: int) -> None:
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as sparse:
        sparse.truncate(megabytes * MB)


def mounted_below(directory: Path) -> Sequence[Path]:
    """The mount points at or below the directory, innermost first."""
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [Path(_unescape(line.split()[4])) for line in lines]
    return [point for point in reversed(points) if point.is_relative_to(directory)]


def is_mounted(directory: Path) -> bool:
    return directory.resolve() in mounted_below(directory.resolve())


def unmount_below(directory: Path) -> None:
    """Unmount what a killed agent left mounted. Blocks."""
    for point in mounted_below(directory):
        subprocess.run(["umount", point], check=True, capture_output=True)  # noqa: S607


def is_full(directory: Path) -> bool:
    space = os.statvfs(directory)
    return space.f_bavail < space.f_blocks * FULL or space.f_favail < space.f_files * FULL


def used_mb(directory: Path) -> int:
    space = os.statvfs(directory)
    return (space.f_blocks - space.f_bfree) * space.f_frsize // MB


def _unescape(text: str) -> str:
    return text.encode().decode("unicode_escape")
