"""Reads and changes a customer's files from outside the sandbox. Any name may be a link to a file of the
host, so links are never followed."""

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from stead.artifacts.refusals import printable
from stead.node.builds.failures import BuildFailed

MAX_FILE_BYTES = 1 << 20
MAX_DEPTH = 256
"""Four times what a site may have; npm nests packages inside packages."""


def read_file(root: Path, name: str, *, max_bytes: int = MAX_FILE_BYTES) -> bytes | None:
    """The content of a file in the top directory; None when it does not exist."""
    try:
        descriptor = os.open(root / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError:
        raise BuildFailed(f"{name} must be a file, and not a link") from None
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise BuildFailed(f"{name} must be a file")
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise BuildFailed(f"{name} is larger than {max_bytes >> 10} KB")
    return content


def find_folder(root: Path, name: str) -> Path | None:
    """A folder below the root, reached without a link; None when it does not exist."""
    path = root
    for part in Path(name).parts:
        if part in ("..", "/"):
            raise BuildFailed(f"the output directory {printable(name)} leaves the source")
        path = path / part
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISDIR(mode):
            raise BuildFailed(f"{printable(name)} is not a directory, or lies behind a link")
    return path


class TooDeep(BuildFailed):
    """A tree has more levels than are looked at. Python's own functions fail on a tree of a thousand levels,
    which a build makes in a moment."""

    def __init__(self) -> None:
        super().__init__(f"the directories are nested deeper than {MAX_DEPTH} levels")


def has_files(root: Path) -> bool:
    return any(files for _, _, files in _walk(root))


def has_links_out(root: Path) -> bool:
    """Whether a link in the directory leads out of it. True for a tree that is too deep to be looked at."""
    try:
        for folder, folders, files in _walk(root):
            inside = os.path.relpath(folder, root)
            for name in (*folders, *files):
                link = Path(folder, name)
                if link.is_symlink() and _leaves(os.path.normpath(Path(inside, link.readlink()))):
                    return True
    except TooDeep:
        return True
    return False


def _leaves(path: str) -> bool:
    return path.startswith(("/", "../")) or path == ".."


def chown_tree(root: Path, user: int) -> None:
    """Change the owner of the directory and everything in it, without following links."""
    for folder, folders, files, descriptor in os.fwalk(root):
        _check_depth(root, folder)
        for name in (*folders, *files):
            os.chown(name, user, user, dir_fd=descriptor, follow_symlinks=False)
    os.chown(root, user, user)


def remove_git_history(root: Path) -> None:
    """`.git` is never published, also not that of a submodule."""
    for folder, folders, files in _walk(root):
        for name in [name for name in (*folders, *files) if name == ".git"]:
            path = Path(folder) / name
            remove(path)
        folders[:] = [name for name in folders if name != ".git"]


def remove(path: Path) -> None:
    """Remove a file, a link or a directory. A directory that is too deep is refused."""
    if path.is_dir() and not path.is_symlink():
        for _ in _walk(path):
            pass
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def _walk(root: Path) -> Iterator[tuple[str, list[str], list[str]]]:
    for folder, folders, files in os.walk(root):
        _check_depth(root, folder)
        yield folder, folders, files


def _check_depth(root: Path, folder: str) -> None:
    if len(Path(folder).parts) - len(root.parts) > MAX_DEPTH:
        raise TooDeep
