"""What to do with the files of a project: which commands to run, and which directory is the site."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import msgspec

from stead.artifacts.refusals import printable
from stead.node.builds import package_managers, trees
from stead.node.builds.failures import BuildFailed
from stead.node.builds.package_managers import NPM, PackageManager

T = TypeVar("T")

SITE_FILE = "stead.json"
OUTPUT_CONVENTIONS = ("dist", "build", "out", "_site", "public")


class ProjectSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`stead.json`."""

    output: str = ""
    """The directory that becomes the site."""
    build: str = "build"
    """The script of package.json that builds the site."""
    # Rules for the edge, which `read_rules` checks: a wrong one is a warning and fails no build.
    spa: msgspec.Raw = msgspec.Raw(b"")
    redirects: msgspec.Raw = msgspec.Raw(b"")
    headers: msgspec.Raw = msgspec.Raw(b"")
    schema: msgspec.Raw = msgspec.field(name="$schema", default=msgspec.Raw(b""))


class Package(msgspec.Struct, frozen=True):
    """The fields of `package.json` that matter here."""

    scripts: dict[str, str] = {}
    dependencies: dict[str, str] = {}
    dev_dependencies: dict[str, str] = msgspec.field(name="devDependencies", default={})
    optional_dependencies: dict[str, str] = msgspec.field(name="optionalDependencies", default={})
    workspaces: msgspec.Raw = msgspec.Raw(b"")
    package_manager: str = msgspec.field(name="packageManager", default="")

    @property
    def needs_packages(self) -> bool:
        return bool(
            self.dependencies or self.dev_dependencies or self.optional_dependencies or bytes(self.workspaces)
        )


@dataclass(frozen=True)
class BuildPlan:
    manager: PackageManager
    install: bool
    script: str | None
    output: str
    """Empty: look for a directory with a conventional name."""
    plain: bool
    """Nothing is built; without a directory with a conventional name, the whole folder is the site."""


def plan_build(root: Path) -> BuildPlan:
    settings = read_json(root, SITE_FILE, ProjectSettings) or ProjectSettings()
    package = read_json(root, "package.json", Package)
    if package is None:
        return BuildPlan(NPM, install=False, script=None, output=settings.output, plain=True)
    manager = package_managers.choose(root, package.package_manager) if package.needs_packages else NPM
    if manager is None:
        raise BuildFailed(
            "package.json has dependencies and no lock file: run npm install and commit package-lock.json"
        )
    script = settings.build if settings.build in package.scripts else None
    if script is None and settings.build != ProjectSettings().build:
        raise BuildFailed(f"package.json has no script {printable(settings.build)}, which stead.json names")
    install = package.needs_packages
    return BuildPlan(manager, install, script, settings.output, plain=not install and script is None)


def find_output(root: Path, plan: BuildPlan) -> Path:
    """Call it after the build: no process of the build runs then, so the files cannot change any more."""
    if plan.output:
        return _configured_output(root, plan.output)
    for name in OUTPUT_CONVENTIONS:
        folder = trees.find_folder(root, name) if (root / name).is_dir() else None
        if folder is not None and trees.has_files(folder):
            return folder
    if not plan.plain:
        raise BuildFailed(
            f"no output directory: none of {', '.join(OUTPUT_CONVENTIONS)} is there after the build;"
            ' name yours in stead.json, {"output": "…"}'
        )
    if not trees.has_files(root):
        raise BuildFailed("the source is empty")
    return root


def copy_site_file(root: Path, site: Path) -> None:
    """The rules in `stead.json` of the project apply if the output has no such file."""
    if site == root or os.path.lexists(site / SITE_FILE):
        return
    content = trees.read_file(root, SITE_FILE)
    if content is not None:
        with (site / SITE_FILE).open("xb") as file:
            file.write(content)


def _configured_output(root: Path, output: str) -> Path:
    folder = trees.find_folder(root, output)
    if folder is None:
        raise BuildFailed(f"the output directory {printable(output)} is not there after the build")
    if not trees.has_files(folder):
        raise BuildFailed(f"the output directory {printable(output)} is empty")
    return folder


def read_json(root: Path, name: str, kind: type[T]) -> T | None:
    content = trees.read_file(root, name)
    if content is None:
        return None
    try:
        return msgspec.json.decode(content, type=kind)
    except msgspec.ValidationError as error:
        raise BuildFailed(f"{name}: {error}") from None
    except msgspec.DecodeError:
        raise BuildFailed(f"{name} is not JSON") from None
