"""What an image is made of, as data. Another recipe makes another image; `recipes.py` contains them all."""

import hashlib
from dataclasses import dataclass

import msgspec


@dataclass(frozen=True)
class Package:
    """A package of the npm registry, with exactly this content."""

    name: str
    version: str
    integrity: str
    """`sha512-…`, as in lock files."""

    @property
    def spec(self) -> str:
        return f"{self.name}@{self.version}"


@dataclass(frozen=True)
class NpmFiles:
    """Files from a package of the npm registry."""

    package: Package
    paths: tuple[tuple[str, str], ...]
    """Pairs: a file or directory of the package, and its path in the image. An empty path of the package
    means all of it."""


@dataclass(frozen=True)
class PythonFiles:
    """Files from a package of the Python package index, with exactly this content."""

    name: str
    version: str
    sha256: str
    """Of the wheel for this machine."""
    paths: tuple[tuple[str, str], ...]
    """Pairs: a file or directory of the package, and its path in the image."""


@dataclass(frozen=True)
class TextFile:
    path: str
    text: str
    mode: int = 0o644


@dataclass(frozen=True)
class Recipe:
    name: str
    edition: int
    """Incremented when the way that images are made changes."""
    note: str = ""
    """What an operator must know before using the image; `steadctl images` prints it."""
    debian: tuple[str, ...] = ()
    """Debian packages. Without any, the image contains only the files below."""
    suites: tuple[str, ...] = ()
    """The Debian releases that the packages come from; those of this machine if empty."""
    accepts_expired_indexes: bool = False
    """For suites that are updated rarely, whose signed index may be past its date."""
    dpkg_options: tuple[str, ...] = ()
    """Which files of the Debian packages are left out: `path-exclude=…`, `path-include=…`."""
    npm: tuple[NpmFiles, ...] = ()
    python: tuple[PythonFiles, ...] = ()
    users: tuple[tuple[str, int], ...] = ()
    directories: tuple[str, ...] = ()
    """Empty directories. An image is read-only, so a container can only mount over what exists."""
    files: tuple[TextFile, ...] = ()
    links: tuple[tuple[str, str], ...] = ()
    """Pairs: the path of a symbolic link, and its target."""

    @property
    def digest(self) -> str:
        described = msgspec.to_builtins(self)
        if not self.python:
            # Images that were made before recipes could have such files are still those of their recipes.
            del described["python"]
        return hashlib.sha256(msgspec.json.encode(described)).hexdigest()


class ImageUnavailable(Exception):
    """The image does not exist on this machine or cannot be made; the message says why."""
