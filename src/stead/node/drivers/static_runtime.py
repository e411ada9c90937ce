"""The driver of static sites: releases that all environments of the node share, and a directory for each
environment. A site of functions is one too: its files answer where no function does.

`releases/<name>` is a complete release, named by its content and never changed. The edge record of an
environment says which release it serves. There are no processes.
"""

import contextlib
import os
import shutil
from collections.abc import Collection
from pathlib import Path

from stead.node.disk_space import DiskSpace
from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.drivers.placeholder import PAGE
from stead.node.drivers.releases import (
    ReferencedReleases,
    Releases,
    remove_interrupted_lists,
    unknown_references,
)
from stead.node.drivers.runtime_driver import RuntimeDriver
from stead.node.uninterrupted import run_in_thread
from stead.protocol.edge_records import PLACEHOLDER
from stead.protocol.work.releases import EnsureRelease
from stead.shared.runtimes import Runtime


class StaticRuntime(RuntimeDriver):
    """`referenced` returns the releases that edge records name."""

    def __init__(
        self,
        data: Path,
        referenced: ReferencedReleases = unknown_references,
        space: DiskSpace | None = None,
        *,
        runtimes: tuple[Runtime, ...] = ("static",),
    ) -> None:
        self.runtimes = runtimes
        self._home, home_of_releases = layout.environments(data), layout.releases(data)
        for directory in (self._home, home_of_releases):
            directory.mkdir(parents=True, exist_ok=True)
            # The edge's workers run as another user, so the umask must not apply.
            directory.chmod(0o755)
        _write_release(home_of_releases / PLACEHOLDER, {"index.html": PAGE.encode()})
        self.releases = Releases(data, referenced, space or DiskSpace(data))
        """Shared with other runtimes: they are kept in the same directory."""
        remove_interrupted_lists(self._home)

    async def ensure_environment(self, task: Assignment) -> None:
        if await run_in_thread(_ensure_directory, self._directory(task)):
            await task.output.say("static: a placeholder is in place until the first deployment")

    async def remove_environment(self, task: Assignment) -> None:
        directory = self._directory(task)
        if not layout.has_disk(directory):
            await run_in_thread(_remove_directory, directory)

    async def restart_environment(self, task: Assignment) -> None:
        if not self._directory(task).exists():
            raise Refusal("environment.not_found", "the environment is not on this node")
        await task.output.say(
            "static: a static environment has no processes, so there was nothing to restart"
        )

    async def suspend_environment(self, task: Assignment) -> None:
        self._directory(task)
        await task.output.say("static: a static environment has no processes, so there was nothing to end")

    async def ensure_release(self, task: Assignment, wanted: EnsureRelease) -> None:
        directory = self._directory(task)
        if not directory.exists():
            raise Refusal("environment.not_found", "the environment is not on this node")
        if await self.releases.ensure(wanted, wanted.runtime):
            await task.output.say(f"static: the release {wanted.digest} is verified and in place")
        else:
            await task.output.say(f"static: the release {wanted.digest} was here already")
        await self.releases.add_to_list(directory, wanted)
        await self.tidy()

    async def tidy(self) -> None:
        await self.releases.collect(self._home)

    async def list_environments(self) -> Collection[str]:
        return await run_in_thread(self._list_own)

    def _list_own(self) -> list[str]:
        return [name for name in layout.list_names(self._home) if not layout.has_disk(self._home / name)]

    def _directory(self, task: Assignment) -> Path:
        return self._home / layout.check_identifier(task.environment)


def _ensure_directory(directory: Path) -> bool:
    """Return whether the directory is new."""
    if directory.exists():
        return False
    directory.mkdir(exist_ok=True)
    directory.chmod(0o755)
    layout.sync_directory(directory.parent)
    return True


def _write_release(path: Path, files: dict[str, bytes]) -> None:
    if path.exists():
        return
    fresh = layout.hidden_name(path)
    fresh.mkdir()
    fresh.chmod(0o755)
    for name, content in files.items():
        layout.write_file(fresh / name, content)
        (fresh / name).chmod(0o444)
    try:
        fresh.rename(path)
    except OSError:
        # Another process was faster; a release with the same name has the same content.
        shutil.rmtree(fresh)
        if not path.exists():
            raise
    layout.sync_directory(path.parent)


def _remove_directory(directory: Path) -> None:
    # Hidden in one step, so that a half-removed directory is never served and a second removal finds nothing.
    hidden = layout.hidden_name(directory)
    with contextlib.suppress(FileNotFoundError):
        directory.rename(hidden)
    for left in directory.parent.glob(f".{directory.name}.*"):
        shutil.rmtree(left, onerror=_ignore_missing)
    layout.sync_directory(directory.parent)


def _ignore_missing(_: object, path: str, __: object) -> None:
    if os.path.lexists(path):
        raise OSError(f"{Path(path).name} cannot be removed")
