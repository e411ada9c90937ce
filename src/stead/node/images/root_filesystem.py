"""Makes the root file system of an image, as its recipe says."""

import os
import shutil
import stat
from pathlib import Path

from stead.node.images.debian import install_debian
from stead.node.images.debian_packages import Versions, installed_versions, refuse_older
from stead.node.images.files import make_directory
from stead.node.images.npm import install_npm_files
from stead.node.images.python import install_python_files
from stead.node.images.recipe import ImageUnavailable, Recipe

# A container must not see this machine's name or its package sources.
_REMOVED = ("etc/apt", "etc/hostname", "etc/resolv.conf", "var/cache", "var/log", "var/lib/apt")


def make_root_filesystem(recipe: Recipe, root: Path) -> Versions:
    """The directory must not exist yet. Returns the Debian packages with their versions."""
    if os.geteuid() != 0:
        raise ImageUnavailable("an image can only be made by root")
    if missing := _missing_tools(recipe):
        raise ImageUnavailable(f"an image cannot be made without {', '.join(missing)}")
    versions: Versions = {}
    if recipe.debian:
        install_debian(recipe, root)
        versions = installed_versions(root)
        refuse_older(recipe.name, versions)
        _make_anonymous(root)
    make_directory(root)
    for files in recipe.npm:
        install_npm_files(files, root)
    for package in recipe.python:
        install_python_files(package, root)
    _add_own_files(recipe, root)
    _remove_privileges(root)
    return versions


def _missing_tools(recipe: Recipe) -> list[str]:
    needed = (
        *(("mmdebstrap", "apt-get") if recipe.debian else ()),
        *(("npm",) if recipe.npm else ()),
        *(("uv",) if recipe.python else ()),
    )
    return [tool for tool in needed if shutil.which(tool) is None]


def _make_anonymous(root: Path) -> None:
    for path in _REMOVED:
        _remove(root / path)
    (root / "var/cache").mkdir()
    (root / "etc/resolv.conf").touch()
    (root / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")


def _add_own_files(recipe: Recipe, root: Path) -> None:
    for user, uid in recipe.users:
        _append(root / "etc/passwd", f"{user}:x:{uid}:{uid}::/work/home:/bin/sh\n")
        _append(root / "etc/group", f"{user}:x:{uid}:\n")
    for directory in recipe.directories:
        make_directory(_inside(root, directory))
    for file in recipe.files:
        path = _inside(root, file.path)
        make_directory(path.parent)
        path.write_text(file.text)
        path.chmod(file.mode)
    for link, target in recipe.links:
        _inside(root, link).symlink_to(target)


def _remove_privileges(root: Path) -> None:
    """No program of an image runs with more rights than its caller, whatever the container allows."""
    for folder, _, files in os.walk(root):
        for name in files:
            path = Path(folder) / name
            mode = path.lstat().st_mode
            if stat.S_ISREG(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                path.chmod(stat.S_IMODE(mode) & ~(stat.S_ISUID | stat.S_ISGID))


def _inside(root: Path, path: str) -> Path:
    return root / path.lstrip("/")


def _append(path: Path, line: str) -> None:
    with path.open("a") as file:
        file.write(line)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
