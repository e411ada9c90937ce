"""`steadctl node`, except that its work on a WordPress environment can be held at a certain point, and that
it ends sites that hang sooner.

The file `holds/<environment>` beside the data directory names the point, for example `after Databases.drop`.
The agent creates `holds/<environment>.reached` there and goes on when the first file is gone.
"""

import asyncio
import functools
import inspect
import pkgutil
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from stead.node import main as node
from stead.node.hosting.wake_budget import WakeBudget
from stead.node.settings import from_environment

POLL = 0.05
GRACE_SECONDS = 3.0
"""How long a site that hangs may take to finish its requests."""
ANSWER_SECONDS = 20.0
"""How long a site may take to answer when its version of PHP is switched. One that does not answer before the
switch is not switched back after it."""
POINTS = {
    "make_disk": "stead.node.wordpress.files.make_disk",
    "Disks.make": "stead.node.containers.disks.Disks.make",
    "Disks.mount": "stead.node.containers.disks.Disks.mount",
    "attach": "stead.node.wordpress.files.attach",
    "Databases.drop": "stead.node.databases.databases.Databases.drop",
    "Databases.create": "stead.node.databases.databases.Databases.create",
    "Databases.keep": "stead.node.databases.databases.Databases.keep",
    "install": "stead.node.wordpress.runtime.install",
    "Services.start": "stead.node.containers.services.Services.start",
    "Services.remove": "stead.node.containers.services.Services.remove",
    "Runc.run": "stead.node.containers.runc.Runc.run",
    "Disks.unmount": "stead.node.containers.disks.Disks.unmount",
    "files.remove": "stead.node.wordpress.files.remove",
    "make_empty": "stead.node.wordpress.datasets.DatasetMaker._make_empty",
    "load": "stead.node.wordpress.datasets.load",
    "complete": "stead.node.wordpress.datasets.DatasetMaker._complete",
    "reinstall": "stead.node.wordpress.datasets.install",
    "is_complete": "stead.node.wordpress.datasets.DatasetMaker.is_complete",
    "verify": "stead.node.wordpress.datasets.DatasetMaker._verify",
    "keep_data": "stead.node.wordpress.pushing.keep_data_of_production",
    "TreeCopy.run": "stead.node.wordpress.tree_copy.TreeCopy.run",
    "copy_content": "stead.node.wordpress.tree_copy.TreeCopy._copy_content",
    "Repository.backup": "stead.node.snapshots.restic.Repository.backup",
    "Repository.restore": "stead.node.snapshots.restic.Repository.restore",
    "snapshot dump": "stead.node.wordpress.snapshot_taking.dump",
    "load_stream": "stead.node.wordpress.snapshot_restoring.load_stream",
    "boot": "stead.node.wordpress.snapshot_commands.find_failure",
    "Hosts.open": "stead.node.hosting.hosts.Hosts.open",
}
"""Their names in the tests, and the functions before and after which work can be held."""
_ENVIRONMENT = re.compile("env_[0-9a-z]{26}")


def holds_of(data: Path) -> Path:
    return data.with_name(f"{data.name}-holds")


def _hold_around(name: str, function: Callable[..., Any], holds: Path) -> Callable[..., Any]:
    @functools.wraps(function)
    async def held(*args: object, **more: object) -> object:
        file = _find_hold(holds, args)
        await _wait(file, f"before {name}")
        result = await function(*args, **more)
        await _wait(file, f"after {name}")
        return result

    @functools.wraps(function)
    def held_in_thread(*args: object, **more: object) -> object:
        file = _find_hold(holds, args)
        _wait_in_thread(file, f"before {name}")
        result = function(*args, **more)
        _wait_in_thread(file, f"after {name}")
        return result

    return held if inspect.iscoroutinefunction(function) else held_in_thread


def _find_hold(holds: Path, args: object) -> Path:
    found = _ENVIRONMENT.search(repr(args))
    return holds / (found[0] if found else "none")


async def _wait(file: Path, point: str) -> None:
    while _read(file) == point:
        file.with_suffix(".reached").touch()
        await asyncio.sleep(POLL)


def _wait_in_thread(file: Path, point: str) -> None:
    while _read(file) == point:
        file.with_suffix(".reached").touch()
        time.sleep(POLL)


def _read(file: Path) -> str:
    try:
        return file.read_text()
    except FileNotFoundError:
        return ""


def main() -> None:
    holds = holds_of(from_environment().data)
    for name, path in POINTS.items():
        patch(path, _hold_around(name, pkgutil.resolve_name(path), holds)).start()
    # The time that ships is half a minute, in which nothing but waiting happens.
    patch("stead.node.hosting.environment.GRACE_SECONDS", GRACE_SECONDS).start()
    # Work that is held must not keep other work from being held.
    for name in ("PLACES", "PER_TENANT"):
        patch(f"stead.node.wordpress.datasets.{name}", 100).start()
        patch(f"stead.node.wordpress.snapshot_commands.{name}", 100).start()
    # A minute in which nothing but waiting happens.
    patch("stead.node.snapshots.restic.STORE_PATIENCE_SECONDS", GRACE_SECONDS).start()
    patch.dict(WakeBudget.__init__.__kwdefaults__, starts_at_once=100).start()
    patch("stead.node.wordpress.php_versions.ANSWER_SECONDS", ANSWER_SECONDS).start()
    node.run()


if __name__ == "__main__":
    main()
