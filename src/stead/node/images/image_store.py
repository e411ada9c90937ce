"""Where images are kept: read-only in `<name>/<digest of the content>/`, with a link from each recipe to its
image. Any number of processes may ask for an image at the same time; one of them makes it."""

import fcntl
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import msgspec

from stead.node.images.recipe import ImageUnavailable, Recipe, recipe
from stead.node.images.root_filesystem import make_root_filesystem


class ImageMetadata(msgspec.Struct, frozen=True):
    """Stored beside the root file system, in `image.json`."""

    name: str
    digest: str
    recipe: str
    bytes: int
    seconds: float
    made_at: float


@dataclass(frozen=True)
class Image:
    metadata: ImageMetadata
    root: Path


def default_directory() -> Path:
    if configured := os.environ.get("STEAD_IMAGES"):
        return Path(configured)
    if os.geteuid() == 0:
        return Path("/var/lib/stead/images")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stead" / "images"


class ImageStore:
    def __init__(self, directory: Path | None = None) -> None:
        self.directory = directory or default_directory()

    def find(self, name: str) -> Image:
        """The image of the current recipe; raises ImageUnavailable when it has not been made."""
        link = self.directory / name / _link_name(recipe(name))
        try:
            return _read_image(link.resolve(strict=True))
        except OSError:
            raise ImageUnavailable(
                f"there is no image {name} in {self.directory}: run steadctl images build"
            ) from None

    def ensure(self, name: str, on_start: Callable[[], None] = lambda: None) -> Image:
        """Return the image, and make it first if it is missing. Making it, or waiting for another process
        that makes it, takes about a minute."""
        wanted = recipe(name)
        try:
            return self.find(name)
        except ImageUnavailable:
            with self._locked(name):
                try:
                    return self.find(name)
                except ImageUnavailable:
                    on_start()
                    return self._make(wanted)

    def list_images(self) -> list[Image]:
        found = [path.parent for path in self.directory.glob("*/sha256-*/image.json")]
        return sorted((_read_image(path) for path in found), key=lambda image: image.metadata.made_at)

    def _make(self, wanted: Recipe) -> Image:
        home, began = self.directory / wanted.name, time.monotonic()
        for unfinished in home.glob(".making-*"):
            shutil.rmtree(unfinished)
        fresh = home / f".making-{token_hex(8)}"
        fresh.mkdir()
        # The root user of a container is an ordinary user of the host and must be able to enter.
        fresh.chmod(0o755)
        try:
            make_root_filesystem(wanted, fresh / "root")
            metadata = _measure(wanted, fresh / "root", began)
            (fresh / "image.json").write_bytes(msgspec.json.encode(metadata))
            image = home / metadata.digest.replace(":", "-")
            if not image.exists():
                fresh.rename(image)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        link = home / f".link-{token_hex(8)}"
        link.symlink_to(image.name)
        link.rename(home / _link_name(wanted))
        return _read_image(image)

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        home = self.directory / name
        try:
            home.mkdir(parents=True, exist_ok=True)
            for path in (self.directory, home):
                path.chmod(0o755)
            descriptor = os.open(home / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ImageUnavailable(f"{home} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _measure(wanted: Recipe, root: Path, began: float) -> ImageMetadata:
    digest, size = digest_tree(root)
    return ImageMetadata(
        name=wanted.name,
        digest=f"sha256:{digest}",
        recipe=wanted.digest,
        bytes=size,
        seconds=round(time.monotonic() - began, 1),
        made_at=time.time(),
    )


def digest_tree(root: Path) -> tuple[str, int]:
    """The digest of all names, types, modes, owners and contents below the root, and the size of all
    files."""
    total, size = hashlib.sha256(), 0
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted((*files, *folders)):
            path = Path(folder) / name
            status = path.lstat()
            total.update(os.fsencode(path.relative_to(root)) + b"\0")
            total.update(f"{status.st_mode:o} {status.st_uid} {status.st_gid}\0".encode())
            if stat.S_ISREG(status.st_mode):
                size += status.st_size
                with path.open("rb") as file:
                    total.update(hashlib.file_digest(file, "sha256").digest())
            elif stat.S_ISLNK(status.st_mode):
                total.update(os.fsencode(path.readlink()) + b"\0")
    return total.hexdigest(), size


def _read_image(directory: Path) -> Image:
    metadata = msgspec.json.decode((directory / "image.json").read_bytes(), type=ImageMetadata)
    return Image(metadata, directory / "root")


def _link_name(wanted: Recipe) -> str:
    return f"recipe-{wanted.digest[:16]}"
