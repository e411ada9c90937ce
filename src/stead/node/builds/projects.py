"""What is to be done with a tree: which commands, and which directory is the site."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from stead.artifacts.refusals import printable
from stead.node.builds import trees
from stead.node.builds.caps import BuildFailed

T = TypeVar("T")

CONVENTIONS = ("dist", "build", "out", "_site", "public")
LOCKS = ("package-lock.json", "npm-shrinkwrap.json")
OTHER_LOCKS = ("yarn.lock", "pnpm-lock.yaml", "bun.lock", "bun.lockb")


class Wishes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`stead.json`."""

    output: str = ""
    """The directory that becomes the site."""
    build: str = "build"
    """Which script of package.json builds it."""


class Package(msgspec.Struct, frozen=True):
    """What matters of `package.json`."""

    scripts: dict[str, str] = {}
    dependencies: dict[str, str] = {}
    dev_dependencies: dict[str, str] = msgspec.field(name="devDependencies", default={})
    optional_dependencies: dict[str, str] = msgspec.field(name="optionalDependencies", default={})
    workspaces: msgspec.Raw = msgspec.Raw(b"")

    @property
    def needs_packages(self) -> bool:
        return bool(
            self.dependencies or self.dev_dependencies or self.optional_dependencies or bytes(self.workspaces)
        )


@dataclass(frozen=True)
class Plan:
    install: bool
    script: str | None
    output: str
    """Empty: by convention."""
    plain: bool
    """Nothing is built; without a directory by convention, the whole folder is the site."""


def plan(root: Path) -> Plan:
    wishes = _read(root, "stead.json", Wishes) or Wishes()
    package = _read(root, "package.json", Package)
    if package is None:
        return Plan(install=False, script=None, output=wishes.output, plain=True)
    locked = any(trees.read(root, name, most=64 << 20) is not None for name in LOCKS)
    if package.needs_packages and not locked:
        raise BuildFailed(_unlocked(root))
    script = wishes.build if wishes.build in package.scripts else None
    if script is None and wishes.build != Wishes().build:
        raise BuildFailed(f"package.json has no script {printable(wishes.build)}, which stead.json names")
    install = locked and package.needs_packages
    return Plan(install, script, wishes.output, plain=not install and script is None)


def output(root: Path, wanted: Plan) -> Path:
    """After the build. Nothing of it runs any more, so what is looked at stays as it is."""
    if wanted.output:
        place = trees.folder(root, wanted.output)
        if place is None:
            raise BuildFailed(f"the output directory {printable(wanted.output)} is not there after the build")
        if not trees.has_files(place):
            raise BuildFailed(f"the output directory {printable(wanted.output)} is empty")
        return place
    for name in CONVENTIONS:
        place = trees.folder(root, name) if (root / name).is_dir() else None
        if place is not None and trees.has_files(place):
            return place
    if not wanted.plain:
        raise BuildFailed(
            f"no output directory: none of {', '.join(CONVENTIONS)} is there after the build;"
            ' name yours in stead.json, {"output": "…"}'
        )
    if not trees.has_files(root):
        raise BuildFailed("the source is empty")
    return root


def _unlocked(root: Path) -> str:
    other = next((name for name in OTHER_LOCKS if os.path.lexists(root / name)), None)
    if other is not None:
        return f"{other} is not understood yet: run npm install and commit package-lock.json"
    return "package.json has dependencies and no lock file: run npm install and commit package-lock.json"


def _read(root: Path, name: str, kind: type[T]) -> T | None:
    content = trees.read(root, name)
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise BuildFailed(f"{name}: {error}") from None
    except msgspec.DecodeError:
        raise BuildFailed(f"{name} is not JSON") from None
