"""A workspace for each build: its own disk and its own range of users. It is removed when the build ends or
is cancelled; a workspace that a killed agent left behind is removed at the next start."""

import asyncio
import hashlib
import os
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

from stead.node.builds.limits import BuildLimits
from stead.node.containers.cgroups import LimitEvents
from stead.node.containers.disks import Disks, unmount_below
from stead.node.containers.limits import MEMORY, first_uid
from stead.node.containers.runc import remove_leftover_containers
from stead.node.images.recipes import BUILD_UID
from stead.node.uninterrupted import run_in_thread, run_uninterrupted


@dataclass
class Workspace:
    """The directories of one build on the host."""

    directory: Path
    memory: Path
    """A directory in memory, for what must not be written to a disk: keys, and the configuration of
    containers, which contains the variables of the build."""
    first_uid: int
    """The first of its range of users on the host."""
    limit_events: LimitEvents = field(default_factory=LimitEvents)
    """Of the last program that ran in it, also when it was stopped."""

    @property
    def owner(self) -> int:
        """The user of the host that the build runs as."""
        return self.first_uid + BUILD_UID

    @property
    def work(self) -> Path:
        """The build's disk. Root owns its top directory; the build owns `src` and `home`."""
        return self.directory / "work"

    @property
    def source(self) -> Path:
        return self.work / "src"

    @property
    def home(self) -> Path:
        return self.work / "home"

    @property
    def cache(self) -> Path:
        """Where the cache of the site is mounted, if the build has it."""
        return self.directory / "cache"

    @property
    def egress(self) -> Path:
        return self.directory / "egress.sock"


class Workspaces:
    def __init__(self, home: Path, disks: Disks, limits: BuildLimits) -> None:
        self._home, self._disks, self._limits = home / "workspaces", disks, limits
        self._memory_prefix = container_prefix(home)
        self._home.mkdir(parents=True, exist_ok=True)
        # The users of a container must be able to pass through; they cannot list the names in it.
        for path in (home, self._home):
            path.chmod(0o711)
        self._free_slots: asyncio.Queue[int] = asyncio.Queue()
        for slot in range(limits.concurrent):
            self._free_slots.put_nowait(slot)

    @property
    def all_in_use(self) -> bool:
        return self._free_slots.empty()

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Workspace]:
        slot = await self._free_slots.get()
        try:
            name = token_hex(8)
            memory = MEMORY / f"{self._memory_prefix}{name}"
            workspace = Workspace(self._home / name, memory, first_uid(slot))
            workspace.directory.mkdir(mode=0o711)
            try:
                workspace.memory.mkdir(mode=0o711)
                await self._prepare(workspace)
                yield workspace
            finally:
                await run_uninterrupted(self._remove(workspace))
        finally:
            self._free_slots.put_nowait(slot)

    async def _prepare(self, workspace: Workspace) -> None:
        disk = workspace.directory / "disk"
        await self._disks.make(disk, self._limits.disk_mb)
        workspace.work.mkdir()
        await self._disks.mount(disk, workspace.work)
        shutil.rmtree(workspace.work / "lost+found")
        for directory in (workspace.source, workspace.home):
            directory.mkdir(mode=0o755)
            os.chown(directory, workspace.owner, workspace.owner)

    async def _remove(self, workspace: Workspace) -> None:
        await run_in_thread(shutil.rmtree, workspace.memory, True)
        await self._disks.unmount(workspace.work)
        await run_in_thread(shutil.rmtree, workspace.directory)


def container_prefix(home: Path) -> str:
    """The prefix of the names of this node's build containers and directories in memory; other nodes may
    share the machine."""
    return f"stead-build-{hashlib.sha256(os.fsencode(home.resolve())).hexdigest()[:10]}-"


def remove_leftovers(home: Path) -> int:
    """Remove what a killed agent left of its builds, and return the number of containers. Blocks."""
    containers = remove_leftover_containers(home / "runc", container_prefix(home))
    unmount_below(home)
    for directory in MEMORY.glob(f"{container_prefix(home)}*"):
        shutil.rmtree(directory)
    for workspace in (home / "workspaces").glob("*"):
        shutil.rmtree(workspace)
    for file in (home / "caches").glob("*.in-use"):
        file.unlink()
    return containers
