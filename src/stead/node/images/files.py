"""Directories of images."""

from pathlib import Path


def make_directory(path: Path) -> None:
    """With its parents, and readable by everyone whatever the umask: the users of a container are others on
    the host."""
    if path.is_dir():
        return
    make_directory(path.parent)
    path.mkdir()
    path.chmod(0o755)
