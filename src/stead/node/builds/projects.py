"""What to do with the files of a project: which commands to run, and which directory is the site."""

import os
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import TypeVar

import msgspec

from stead.artifacts.refusals import printable
from stead.node.builds import generators, node_versions, package_managers, trees
from stead.node.builds.failures import BuildFailed
from stead.node.builds.generators import Generator
from stead.node.builds.package_managers import NPM, Command, PackageManager
from stead.shared.mismatches import describe_mismatch

T = TypeVar("T")

SITE_FILE = "stead.json"
OUTPUT_CONVENTIONS = ("dist", "build", "out", "_site", "public")


class ProjectSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`stead.json`."""

    output: str = ""
    """The directory that becomes the site."""
    build: str = "build"
    """The script of package.json that builds the site."""
    command: str = ""
    """Builds the site instead of that script, in a shell."""
    generator: str = ""
    """Instead of the one that is recognized; `none` for none."""
    root: str = ""
    """The directory of the project, in a repository with several."""
    watch: tuple[str, ...] = ()
    """Directories and files of the top directory that the project needs, besides its own directory."""
    # Rules for the edge, which `read_rules` checks: a wrong one is a warning and fails no build.
    spa: msgspec.Raw = msgspec.Raw(b"")
    redirects: msgspec.Raw = msgspec.Raw(b"")
    headers: msgspec.Raw = msgspec.Raw(b"")
    schema: msgspec.Raw = msgspec.field(name="$schema", default=msgspec.Raw(b""))


class _Engines(msgspec.Struct, frozen=True):
    node: str = ""


class Package(msgspec.Struct, frozen=True):
    """The fields of `package.json` that matter here."""

    scripts: dict[str, str] = {}
    dependencies: dict[str, str] = {}
    dev_dependencies: dict[str, str] = msgspec.field(name="devDependencies", default={})
    optional_dependencies: dict[str, str] = msgspec.field(name="optionalDependencies", default={})
    workspaces: msgspec.Raw = msgspec.Raw(b"")
    package_manager: str = msgspec.field(name="packageManager", default="")
    engines: msgspec.Raw = msgspec.Raw(b"{}")

    @property
    def node(self) -> str:
        """Which versions of Node.js it is for. Old packages have a list instead."""
        try:
            return msgspec.json.decode(self.engines, type=_Engines).node
        except msgspec.DecodeError:
            return ""

    @property
    def packages(self) -> set[str]:
        return {*self.dependencies, *self.dev_dependencies, *self.optional_dependencies}

    @property
    def needs_packages(self) -> bool:
        return bool(
            self.dependencies or self.dev_dependencies or self.optional_dependencies or bytes(self.workspaces)
        )


@dataclass(frozen=True)
class BuildPlan:
    directory: str = ""
    """The project, inside the source."""
    manager: PackageManager = NPM
    install_in: str | None = None
    """Where packages are installed, inside the source. None if there are none."""
    prepare: tuple[Command, ...] = ()
    """Commands that install what the generator needs."""
    command: Command | None = None
    generator: Generator | None = None
    image: str = "static"
    node: str = node_versions.DEFAULT
    output: str = ""
    """As `stead.json` says. Empty: look for a directory with a conventional name."""
    relevant: tuple[str, ...] | None = None
    """The directories and files of the top directory that the build reads. None: everything."""

    @property
    def plain(self) -> bool:
        """Nothing is built; without a directory with a conventional name, the whole folder is the site."""
        return self.install_in is None and self.command is None


def plan_build(root: Path, directory: str = "") -> BuildPlan:
    """`directory` replaces the `root` of `stead.json`."""
    settings = read_json(root, SITE_FILE, ProjectSettings) or ProjectSettings()
    directory = _check_directory(root, directory or settings.root)
    project = root / directory
    if directory:
        settings = read_json(project, SITE_FILE, ProjectSettings) or settings
    package = read_json(project, "package.json", Package)
    top = read_json(root, "package.json", Package) if directory else None
    generator = _find_generator(project, settings, package)
    plan = BuildPlan(directory, generator=generator, output=settings.output)
    if package is None or (generator is not None and generator.image != plan.image):
        plan = _plan_without_packages(project, plan, settings)
    else:
        plan = _plan_with_packages(root, plan, settings, package, top)
    return replace(plan, relevant=_relevant_paths(root, plan, settings))


def _check_directory(root: Path, directory: str) -> str:
    directory = _normalize(directory)
    if directory and trees.find_folder(root, directory) is None:
        raise BuildFailed(f"the source has no directory {printable(directory)}, which is named as its root")
    return directory


def _normalize(path: str) -> str:
    """As git writes it: without a slash at its ends, `.` and doubled slashes."""
    return "/".join(PurePosixPath(path.strip("/")).parts)


def _find_generator(project: Path, settings: ProjectSettings, package: Package | None) -> Generator | None:
    if settings.generator:
        return generators.named(settings.generator)
    found = generators.find_by_packages(package.packages) if package is not None else None
    has_script = package is not None and settings.build in package.scripts
    return found or (None if has_script else generators.find_by_files(project))


def _plan_without_packages(project: Path, plan: BuildPlan, settings: ProjectSettings) -> BuildPlan:
    generator, command = plan.generator, _own_command(plan, settings)
    if generator is None or generator.image == plan.image:
        return replace(plan, command=command)
    prepare = (
        generators.python_commands(project, plan.directory, generator) if _uses_python(generator) else ()
    )
    return replace(
        plan,
        prepare=prepare,
        command=command or Command(generator.argv, " ".join(generator.argv), plan.directory),
        image=generator.image,
    )


def _uses_python(generator: Generator) -> bool:
    return generator.image == "python"


def _plan_with_packages(
    root: Path, plan: BuildPlan, settings: ProjectSettings, package: Package, top: Package | None
) -> BuildPlan:
    install_in, manager = None, NPM
    if package.needs_packages:
        install_in, manager = _find_lock_file(root, plan.directory, package, top)
    node = node_versions.choose(root / plan.directory, package.node)
    if node == node_versions.DEFAULT and top is not None and not package.node:
        node = node_versions.choose(root, top.node)
    return replace(
        plan,
        manager=manager,
        install_in=install_in,
        command=_own_command(plan, settings) or _package_command(plan, settings, package, manager),
        node=node,
    )


def _find_lock_file(
    root: Path, directory: str, package: Package, top: Package | None
) -> tuple[str, PackageManager]:
    """Where packages are installed: beside the package.json of the project, or in the top directory, as
    workspaces are."""
    manager = package_managers.choose(root / directory, package.package_manager)
    if manager is not None:
        return directory, manager
    if top is not None:
        manager = package_managers.choose(root, top.package_manager or package.package_manager)
    if manager is None:
        raise BuildFailed(
            "package.json has dependencies and no lock file: run npm install and commit package-lock.json"
        )
    return "", manager


def _own_command(plan: BuildPlan, settings: ProjectSettings) -> Command | None:
    """The command of `stead.json`. It is the customer's own, like a script of package.json, and its shell
    runs in the sandbox."""
    if not settings.command:
        return None
    return Command(("/bin/sh", "-c", settings.command), printable(settings.command), plan.directory)


def _package_command(
    plan: BuildPlan, settings: ProjectSettings, package: Package, manager: PackageManager
) -> Command | None:
    if settings.build in package.scripts:
        return manager.run(settings.build, plan.directory)
    if settings.build != ProjectSettings().build:
        raise BuildFailed(f"package.json has no script {printable(settings.build)}, which stead.json names")
    return manager.execute(plan.generator.argv, plan.directory) if plan.generator is not None else None


def _relevant_paths(root: Path, plan: BuildPlan, settings: ProjectSettings) -> tuple[str, ...] | None:
    """Everything, unless the project is a directory that needs nothing outside, or says what it needs.

    A generator without packages of its own often reads folders beside its own, and so do links.
    """
    is_complete = plan.plain or plan.install_in == plan.directory
    if not plan.directory or not (is_complete or settings.watch):
        return None
    if trees.has_links_out(root / plan.directory):
        return None
    watched = [_normalize(path) for path in settings.watch]
    files = [SITE_FILE]
    if not is_complete:
        files = [entry.name for entry in root.iterdir() if not entry.is_dir() or entry.is_symlink()]
    return tuple(sorted({plan.directory, *watched, *files}))


def find_output(root: Path, plan: BuildPlan) -> Path:
    """Call it after the build: no process of the build runs then, so the files cannot change any more."""
    project = trees.find_folder(root, plan.directory) if plan.directory else root
    if project is None:
        raise BuildFailed(f"the directory {printable(plan.directory)} is not there after the build")
    if plan.output:
        return _configured_output(project, plan.output)
    usual = (plan.generator.output,) if plan.generator else ()
    for name in dict.fromkeys((*usual, *OUTPUT_CONVENTIONS)):
        folder = trees.find_folder(project, name) if (project / name).is_dir() else None
        if folder is not None and trees.has_files(folder):
            return folder
    if plan.generator is not None and plan.generator.advice:
        raise BuildFailed(
            f"{plan.generator.title} wrote no folder {plan.generator.output}: {plan.generator.advice}, or"
            ' name its folder in stead.json, {"output": "…"}'
        )
    if not plan.plain:
        raise BuildFailed(
            f"no output directory: none of {', '.join(OUTPUT_CONVENTIONS)} is there after the build;"
            ' name yours in stead.json, {"output": "…"}'
        )
    if not trees.has_files(project):
        raise BuildFailed("the source is empty")
    return project


def copy_site_file(root: Path, directory: str, site: Path) -> None:
    """The rules in `stead.json` of the project, or of the top directory, apply if the output has no such
    file."""
    for folder in dict.fromkeys((trees.find_folder(root, directory), root)):
        if folder is None or os.path.lexists(site / SITE_FILE):
            continue
        content = trees.read_file(folder, SITE_FILE)
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
        raise BuildFailed(f"{name}: {describe_mismatch(error)}") from None
    except msgspec.DecodeError:
        raise BuildFailed(f"{name} is not JSON") from None
