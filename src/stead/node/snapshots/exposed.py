"""Shows a directory of a customer to a program of the platform, at another place where links lead nowhere.

The customer may change the directory at any time. Without this, a directory that is replaced by a link at the
right moment would lead a program that runs as root to the files of others.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from stead.node.containers.disks import mounted_below
from stead.node.containers.limits import ContainerFailed
from stead.node.processes import Run, StreamName
from stead.node.uninterrupted import run_in_thread, run_uninterrupted

_OPTIONS = "remount,bind,nosymfollow,nosuid,nodev,noexec"


@asynccontextmanager
async def exposed(run: Run, source: Path, place: Path, *, writable: bool = False) -> AsyncIterator[None]:
    """`place` shows `source`, and is removed afterwards. Raises ContainerFailed."""
    await run_in_thread(place.mkdir, 0o755)
    try:
        await run_uninterrupted(_mount(run, source, place, writable=writable))
        yield
    finally:
        await run_uninterrupted(_unmount(run, place))


async def _mount(run: Run, source: Path, place: Path, *, writable: bool) -> None:
    await _run(run, "mount", "--bind", str(source), str(place))
    await _run(run, "mount", "-o", _OPTIONS + ("" if writable else ",ro"), str(place))


async def _unmount(run: Run, place: Path) -> None:
    if place in mounted_below(place):
        await _run(run, "umount", "--lazy", str(place))
    await run_in_thread(place.rmdir)


async def _run(run: Run, *argv: str) -> None:
    async def ignore(_: StreamName, __: bytes) -> None:
        """The exit code says enough."""

    if code := await run(argv, ignore):
        raise ContainerFailed(f"{argv[0]} ended with {code}")
