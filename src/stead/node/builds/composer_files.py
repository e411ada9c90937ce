"""What the files of Composer say about versions of PHP."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from stead.node.builds import trees
from stead.node.builds.failures import BuildFailed
from stead.protocol.work.builds import MOST_PHP_REQUIREMENTS, PhpRequirement

MAX_BYTES = 2 << 20
"""The agent itself reads the file, and a decoded one takes up to 40 times as much memory."""


class _Package(msgspec.Struct, frozen=True):
    name: str = ""
    require: dict[str, object] = {}


class _Project(msgspec.Struct, frozen=True):
    require: dict[str, object] = {}


class _Lock(msgspec.Struct, frozen=True):
    packages: tuple[_Package, ...] = ()
    platform: dict[str, object] | list[object] = {}
    """PHP writes an empty object as an empty list."""


def read_php_requirements(root: Path) -> tuple[PhpRequirement, ...]:
    """Those of the project and of each locked package, each constraint once. None if a file cannot be read:
    the node that runs the code checks it once more. Blocks."""
    try:
        found = _list_requirements(root)
    except (BuildFailed, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return ()
    usable = [each for each in found if each.is_plain]
    first = {each.constraint: each for each in reversed(usable)}
    return tuple(each for each in usable if first[each.constraint] is each)[:MOST_PHP_REQUIREMENTS]


def _list_requirements(root: Path) -> list[PhpRequirement]:
    project = trees.read_file(root, "composer.json", max_bytes=MAX_BYTES)
    locked = trees.read_file(root, "composer.lock", max_bytes=MAX_BYTES)
    lock = msgspec.json.decode(locked, type=_Lock) if locked is not None else _Lock()
    own = lock.platform if isinstance(lock.platform, dict) else {}
    if project is not None:
        own = msgspec.json.decode(project, type=_Project).require
    found = list(_constraints("", own))
    for package in lock.packages:
        found += _constraints(package.name, package.require)
    return found


def _constraints(package: str, require: dict[str, object]) -> Iterator[PhpRequirement]:
    for name, constraint in require.items():
        if name.lower() in ("php", "php-64bit") and isinstance(constraint, str):
            yield PhpRequirement(constraint.strip(), package)
