"""Static sites: releases that all environments of the node share, and a mark for each environment it carries.

`releases/<name>` holds a release, whole or not there, named by what is in it and never rewritten; which one
an environment shows is the edge's record. There are no processes.
"""

import contextlib
import os
import shutil
from collections.abc import Collection
from pathlib import Path

from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.drivers.placeholder import PAGE
from stead.node.drivers.releases import ReferencedReleases, Releases, unknown_references
from stead.node.drivers.runtime_driver import RuntimeDriver
from stead.node.uninterrupted import run_in_thread
from stead.protocol.edge_records import PLACEHOLDER
from stead.protocol.work import EnsureRelease


class StaticRuntime(RuntimeDriver):
    """`named` says which releases the edge may be asked for; None when nobody knows."""

    runtimes = ("static",)

    def __init__(self, data: Path, named: ReferencedReleases = unknown_references) -> None:
        self._home, self._releases = layout.environments(data), layout.releases(data)
        for shared in (self._home, self._releases):
            shared.mkdir(parents=True, exist_ok=True)
            # Whatever the umask: the edge's workers are another user.
            shared.chmod(0o755)
        _write_release(self._releases / PLACEHOLDER, {"index.html": PAGE.encode()})
        self._kept = Releases(data, named)

    async def ensure_environment(self, task: Assignment) -> None:
        if await run_in_thread(_ensure, self._directory(task)):
            await task.output.say("static: a placeholder is in place until the first deployment")

    async def remove_environment(self, task: Assignment) -> None:
        await run_in_thread(_remove, self._directory(task))

    async def restart_environment(self, task: Assignment) -> None:
        if not self._directory(task).exists():
            raise Refusal("environment.not_found", "the environment is not on this node")
        await task.output.say(
            "static: a static environment has no processes, so there was nothing to restart"
        )

    async def ensure_release(self, task: Assignment, wanted: EnsureRelease) -> None:
        directory = self._directory(task)
        if not directory.exists():
            raise Refusal("environment.not_found", "the environment is not on this node")
        if await self._kept.ensure(wanted, "static"):
            await task.output.say(f"static: the release {wanted.digest} is verified and in place")
        else:
            await task.output.say(f"static: the release {wanted.digest} was here already")
        await self._kept.note(directory, wanted)
        await self.tidy()

    async def tidy(self) -> None:
        await self._kept.collect(self._home)

    async def list_environments(self) -> Collection[str]:
        return await run_in_thread(layout.list_names, self._home)

    def _directory(self, task: Assignment) -> Path:
        return self._home / layout.check_identifier(task.environment)


def _ensure(directory: Path) -> bool:
    """Whether it was not here before."""
    if directory.exists():
        return False
    directory.mkdir(exist_ok=True)
    directory.chmod(0o755)
    layout.sync_directory(directory.parent)
    return True


def _write_release(path: Path, files: dict[str, bytes]) -> None:
    if path.exists():
        return
    fresh = layout.fresh_name(path)
    fresh.mkdir()
    fresh.chmod(0o755)
    for name, content in files.items():
        layout.write_file(fresh / name, content)
        (fresh / name).chmod(0o444)
    try:
        fresh.rename(path)
    except OSError:
        # Another one was faster; a release of this name has this content.
        shutil.rmtree(fresh)
        if not path.exists():
            raise
    layout.sync_directory(path.parent)


def _remove(directory: Path) -> None:
    # Out of sight in one step: half a release is never served, and a second remove finds nothing.
    doomed = layout.fresh_name(directory)
    with contextlib.suppress(FileNotFoundError):
        directory.rename(doomed)
    for left in directory.parent.glob(f".{directory.name}.*"):
        shutil.rmtree(left, onerror=_gone_is_fine)
    layout.sync_directory(directory.parent)


def _gone_is_fine(_: object, path: str, __: object) -> None:
    if os.path.lexists(path):
        raise OSError(f"{Path(path).name} cannot be removed")
