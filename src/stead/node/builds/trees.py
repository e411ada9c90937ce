"""Looking at a customer's tree from outside its sandbox: every name may be a link to somewhere of ours, so
none is ever followed."""

import os
import shutil
import stat
from pathlib import Path

from stead.artifacts.refusals import printable
from stead.node.builds.caps import BuildFailed

LARGEST = 1 << 20


def read(root: Path, name: str, *, most: int = LARGEST) -> bytes | None:
    """A small file at the top of the tree; None when there is none."""
    try:
        descriptor = os.open(root / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        raise BuildFailed(f"{name} must be a file, and not a link") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BuildFailed(f"{name} must be a file")
        content = file.read(most + 1)
    if len(content) > most:
        raise BuildFailed(f"{name} is larger than {most >> 10} KB")
    return content


def folder(root: Path, name: str) -> Path | None:
    """A folder below the root, reached through no link; None when it is not there."""
    at = root
    for part in Path(name).parts:
        if part in ("..", "/"):
            raise BuildFailed(f"the output directory {printable(name)} leaves the source")
        at = at / part
        try:
            mode = at.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISDIR(mode):
            raise BuildFailed(f"{printable(name)} is not a directory, or lies behind a link")
    return at


def has_files(place: Path) -> bool:
    return any(files for _, _, files in os.walk(place))


def give(root: Path, uid: int) -> None:
    """To the build, all of it, without following anything."""
    for _, folders, files, descriptor in os.fwalk(root):
        for name in (*folders, *files):
            os.chown(name, uid, uid, dir_fd=descriptor, follow_symlinks=False)
    os.chown(root, uid, uid)


def without_history(place: Path) -> None:
    """`.git` is never published, a submodule's neither."""
    for folder, folders, files in os.walk(place):
        for name in [name for name in (*folders, *files) if name == ".git"]:
            path = Path(folder) / name
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
        folders[:] = [name for name in folders if name != ".git"]
