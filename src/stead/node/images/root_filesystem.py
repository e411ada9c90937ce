"""Makes the root file system of an image: Debian by mmdebstrap from this machine's own sources, Node.js and
npm from this machine's npm registry, each verified against the recipe."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from stead.node.images.recipe import ImageUnavailable, Package, Recipe

USER, UID = "build", 1000
"""The user that builds run as, inside the image."""
MOUNT_POINTS = ("work", "cache")
"""Where the sandbox mounts writable directories; the image itself is read-only."""

_TIMEOUT_SECONDS = 900.0
_EXCLUDED = (
    *("/usr/share/doc/*", "/usr/share/man/*", "/usr/share/info/*", "/usr/share/locale/*"),
    *("/usr/share/bash-completion/*", "/usr/share/lintian/*", "/usr/share/gitweb/*"),
)


def missing_tools() -> list[str]:
    return [tool for tool in ("mmdebstrap", "apt-get", "npm") if shutil.which(tool) is None]


def make_root_filesystem(recipe: Recipe, root: Path) -> None:
    """The directory must not exist yet."""
    if os.geteuid() != 0:
        raise ImageUnavailable("an image can only be made by root")
    if missing := missing_tools():
        raise ImageUnavailable(f"an image cannot be made without {', '.join(missing)}")
    _install_debian(recipe, root)
    with tempfile.TemporaryDirectory(prefix="stead-image-") as scratch:
        node, npm = (_fetch(package, Path(scratch)) for package in (recipe.node, recipe.npm))
        _unpack(node, root / "usr/local", only="bin/node")
        _unpack(npm, root / "usr/local/lib/node_modules/npm")
    for name in ("npm", "npx"):
        (root / "usr/local/bin" / name).symlink_to(f"../lib/node_modules/npm/bin/{name}-cli.js")
    _finish(root)


def debian_sources() -> str:
    """The Debian sources of this machine, in the format of `sources.list`."""
    form = "$(REPO_URI) $(RELEASE) $(COMPONENT)"
    output = _run(["apt-get", "indextargets", "--format", form, "Created-By: Packages", "Origin: Debian"])
    found: dict[tuple[str, str], list[str]] = {}
    for line in output.splitlines():
        address, suite, component = line.split()
        found.setdefault((address, suite), []).append(component)
    if not found:
        raise ImageUnavailable("apt knows no Debian sources; run apt-get update on a Debian")
    keys = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
    signed = f"[signed-by={keys}] " if keys.exists() else ""
    return "".join(
        f"deb {signed}{address} {suite} {' '.join(dict.fromkeys(components))}\n"
        for (address, suite), components in found.items()
    )


def _install_debian(recipe: Recipe, root: Path) -> None:
    _run(
        [
            *("mmdebstrap", "--quiet", "--mode=root", "--variant=essential", "--format=directory"),
            f"--include={','.join(recipe.debian)}",
            *(f"--dpkgopt=path-exclude={pattern}" for pattern in _EXCLUDED),
            *("", str(root), "-"),
        ],
        stdin=debian_sources(),
    )


def _fetch(package: Package, scratch: Path) -> Path:
    output = _run(["npm", "pack", package.spec, "--json", "--pack-destination", str(scratch)], cwd=scratch)
    path = scratch / Path(json.loads(output)[0]["filename"]).name
    algorithm, _, wanted = package.integrity.partition("-")
    if hashlib.new(algorithm, path.read_bytes()).digest() != base64.b64decode(wanted):
        raise ImageUnavailable(f"{package.spec} is not what the recipe says")
    return path


def _unpack(archive: Path, into: Path, only: str = "") -> None:
    into.mkdir(parents=True, exist_ok=True)
    with tarfile.open(archive) as members:
        for member in members:
            _, _, member.name = member.name.partition("/")
            if member.name and (not only or member.name == only):
                members.extract(member, into, filter="data")


def _finish(root: Path) -> None:
    for name in MOUNT_POINTS:
        (root / name).mkdir(mode=0o755)
    _append(root / "etc/passwd", f"{USER}:x:{UID}:{UID}::/work/home:/bin/sh\n")
    _append(root / "etc/group", f"{USER}:x:{UID}:\n")
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")
    # Builds must not see this machine's name or its package sources.
    for path in ("etc/apt", "etc/hostname", "etc/resolv.conf", "var/cache", "var/log", "var/lib/apt"):
        _remove(root / path)
    (root / "var/cache").mkdir()
    (root / "etc/resolv.conf").touch()


def _append(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(line)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _run(argv: Sequence[str], *, stdin: str = "", cwd: Path | None = None) -> str:
    try:
        done = subprocess.run(
            argv,
            input=stdin,
            capture_output=True,
            text=True,
            timeout=_TIMEOUT_SECONDS,
            cwd=cwd,
            env=_environment(),
        )
    except subprocess.TimeoutExpired:
        raise ImageUnavailable(f"{argv[0]} did not end within {_TIMEOUT_SECONDS:g} s") from None
    if done.returncode != 0:
        raise ImageUnavailable(f"{argv[0]} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def _environment() -> Mapping[str, str]:
    # With the operator's npm and apt settings, proxies and certificates, but without the node's secrets.
    return {name: value for name, value in os.environ.items() if not name.startswith("STEAD_")} | {
        "LC_ALL": "C.UTF-8"
    }
