"""Which package manager installs the packages of a project: npm, pnpm, yarn or bun.

npm is in the image. The others are installed from the registry into the disk of the build, and not from the
cache of the environment, so that no earlier build can have changed them. Only those that compare cached
packages with the lock file use that cache; pnpm does so less thoroughly, see `caches.py`.
"""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

from stead.artifacts.refusals import printable
from stead.node.builds import trees
from stead.node.builds.failures import BuildFailed
from stead.node.builds.sandbox import ENVIRONMENT, PROXY
from stead.node.containers.egress_rules import HostRule

TOOLS = "/work/home/tools"
MAX_LOCK_BYTES = 64 << 20
LOCK_FILES = {
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
}
"""In the order in which they are looked for."""
NAMED_VERSION = re.compile(r"(npm|pnpm|yarn|bun)@([0-9]+)((?:\.[0-9]+){2}(?:-[0-9A-Za-z.-]+)?)(?:\+\S*)?")
PNPM_VERSIONS = {"6": "8.15.9", "9": "10.18.0"}
"""By the first number of `lockfileVersion`."""
YARN_CLASSIC, YARN, BUN = "1.22.22", "4.9.2", "1.3.0"
YARN_CLASSIC_REGISTRY = HostRule("registry.yarnpkg.com")
"""Lock files of yarn 1 name it in the address of every package."""


@dataclass(frozen=True)
class Command:
    argv: tuple[str, ...]
    shown: str
    """As the log and errors call it."""
    directory: str = ""
    """Where it runs, inside the source."""


@dataclass(frozen=True)
class PackageManager:
    name: str = "npm"
    version: str = ""
    """Empty: the one of the image."""
    package: str = ""
    """The package of the registry that contains it."""
    install_options: tuple[str, ...] = ("ci",)
    hosts: tuple[HostRule, ...] = field(default=())
    """Where it downloads packages, besides the registry."""

    @property
    def provision(self) -> Command | None:
        """The command that brings it into the build. None for npm."""
        if not self.package:
            return None
        wanted = f"{self.package}@{self.version}"
        argv = ("npm", "install", "--global", f"--prefix={TOOLS}", wanted)
        return Command(argv, f"npm install --global {wanted}")

    def install(self, directory: str = "") -> Command:
        return self._command(directory, *self.install_options)

    def run(self, script: str, directory: str = "") -> Command:
        return self._command(directory, "run", script)

    def execute(self, argv: tuple[str, ...], directory: str = "") -> Command:
        """Run a program of an installed package."""
        how = {"npm": ("exec", "--no", "--"), "pnpm": ("exec",)}.get(self.name, ("run",))
        return self._command(directory, *how, *argv)

    def _command(self, directory: str, *arguments: str) -> Command:
        program = f"{TOOLS}/bin/{self.name}" if self.package else self.name
        return Command((program, *arguments), " ".join((self.name, *arguments)), directory)

    def environment(self, registry: str, *, cached: bool) -> dict[str, str]:
        """In addition to that of every build."""
        if not self.package:
            return {}
        path = {"PATH": f"{TOOLS}/bin:{ENVIRONMENT['PATH']}"}
        cache = "/cache" if cached else "/work/home/.cache"
        match self.package:
            case "pnpm":
                # The first two for the versions before 11.
                named = {"registry": registry, "store_dir": f"{cache}/pnpm"}
                prefixes = ("npm_config", "pnpm_config")
                return path | {
                    f"{prefix}_{name}": value for prefix in prefixes for name, value in named.items()
                }
            case "bun":
                return path | {"BUN_CONFIG_REGISTRY": registry}
            case "yarn":
                return path | {"YARN_REGISTRY": registry}
        return path | {
            "YARN_ENABLE_TELEMETRY": "false",
            "YARN_GLOBAL_FOLDER": f"{cache}/yarn",
            "YARN_HTTP_PROXY": PROXY,
            "YARN_HTTPS_PROXY": PROXY,
            "YARN_NPM_REGISTRY_SERVER": registry.rstrip("/"),
            # Only of the operator's own registry.
            "YARN_UNSAFE_HTTP_WHITELIST": _plain_host(registry),
        }


NPM = PackageManager()


def _plain_host(registry: str) -> str:
    parts = urlsplit(registry)
    return (parts.hostname or "") if parts.scheme == "http" else ""


def choose(root: Path, named: str) -> PackageManager | None:
    """The one that `packageManager` of package.json names, or else the one whose lock file is there. None if
    there is no lock file."""
    names = [name for name in LOCK_FILES if os.path.lexists(root / name)]
    wanted, version = _read_named(named)
    if not names:
        return None
    lock_file = next((name for name in names if not wanted or LOCK_FILES[name] == wanted), None)
    if lock_file is None:
        raise BuildFailed(
            f"package.json names {wanted} as its packageManager, but there is no lock file of {wanted}: run"
            f" {wanted} install and commit it"
        )
    content = trees.read_file(root, lock_file, max_bytes=MAX_LOCK_BYTES) or b""
    match LOCK_FILES[lock_file]:
        case "pnpm":
            return _pnpm(version or _pnpm_version(content))
        case "yarn":
            return _yarn(version or (YARN if b"\n__metadata:" in content else YARN_CLASSIC))
        case "bun":
            return PackageManager("bun", version or BUN, "bun", ("install", "--frozen-lockfile"))
        case _:
            return NPM


def _read_named(named: str) -> tuple[str, str]:
    """Name and version. A hash of the version is not checked."""
    if not named:
        return "", ""
    found = NAMED_VERSION.fullmatch(named)
    if found is None:
        raise BuildFailed(
            f"packageManager in package.json is {printable(named)}: use npm, pnpm, yarn or bun with a"
            " version, for example pnpm@10.18.0"
        )
    name, major, rest = found.groups()
    return name, f"{major}{rest}"


def _pnpm(version: str) -> PackageManager:
    return PackageManager("pnpm", version, "pnpm", ("install", "--frozen-lockfile"))


def _pnpm_version(content: bytes) -> str:
    found = re.search(rb"^lockfileVersion: '?([0-9]+)", content, re.MULTILINE)
    version = PNPM_VERSIONS.get(found[1].decode()) if found else None
    if version is None:
        raise BuildFailed(
            "the version of pnpm-lock.yaml is not supported: name your version of pnpm as packageManager in"
            " package.json"
        )
    return version


def _yarn(version: str) -> PackageManager:
    if version.startswith("1."):
        options = ("install", "--frozen-lockfile", "--non-interactive")
        return PackageManager("yarn", version, "yarn", options, (YARN_CLASSIC_REGISTRY,))
    return PackageManager("yarn", version, "@yarnpkg/cli-dist", ("install", "--immutable"))
