"""Where images are kept: read-only in `<name>/<digest of the content>/`, with a link from each recipe to its
image. Any number of processes may ask for an image at the same time; one of them makes it.

An image is removed only by `prune`, and only if it is not the one of the current recipe and nobody needs it.
Who needs an image says so with `hold`, which is a file beside the image and outlives every process, or with
`lock`, which lasts as long as the process.
"""

import fcntl
import hashlib
import os
import re
import shutil
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import msgspec

from stead.node.images.debian_packages import Versions
from stead.node.images.recipe import ImageUnavailable, Recipe
from stead.node.images.recipes import NAMES, recipe
from stead.node.images.root_filesystem import make_root_filesystem

_DIGEST = re.compile("sha256:[0-9a-f]{64}")
_HOLDERS = "holders"
COMPILED = "compiled"
"""A directory beside the root of an image of PHP: images of WordPress, compiled by this PHP."""
_HOLDER = re.compile("[A-Za-z0-9_-]{1,80}")


class ImageMetadata(msgspec.Struct, frozen=True):
    """Stored beside the root file system, in `image.json`."""

    name: str
    digest: str
    recipe: str
    bytes: int
    seconds: float
    made_at: float
    packages: dict[str, str] = {}
    """The Debian packages and their versions."""
    note: str = ""


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

    @classmethod
    def at(cls, directory: str) -> "ImageStore":
        """The store of a setting; the default one if it is empty."""
        return cls(Path(directory) if directory else None)

    def find(self, name: str) -> Image:
        """The image of the current recipe; raises ImageUnavailable when it has not been made."""
        link = self.directory / name / _link_name(recipe(name))
        try:
            return _read_image(link.resolve(strict=True))
        except OSError:
            raise ImageUnavailable(
                f"there is no image {name} in {self.directory}: run steadctl images build {name}"
            ) from None

    def get(self, name: str, digest: str) -> Image:
        """The image with this content, whatever the current recipe is."""
        if name in NAMES and _DIGEST.fullmatch(digest):
            with suppress(OSError):
                return _read_image(self.directory / name / digest.replace(":", "-"))
        raise ImageUnavailable(f"there is no image {name} with the digest {digest} in {self.directory}")

    def ensure(self, name: str, on_start: Callable[[], None] = lambda: None, *, fresh: bool = False) -> Image:
        """Return the image, and make it first if it is missing. Making it, or waiting for another process
        that makes it, takes minutes. A fresh image has today's packages even if there is one already."""
        wanted = recipe(name)
        if not fresh:
            with suppress(ImageUnavailable):
                return self.find(name)
        with self._locked(name, "lock"):
            if not fresh:
                with suppress(ImageUnavailable):
                    return self.find(name)
            on_start()
            return self._make(wanted)

    def hold(self, image: Image, holder: str) -> None:
        """Keep the image until `release`, across restarts. Holding it twice is the same as once. Raises
        ImageUnavailable if it has been pruned."""
        name = image.metadata.name
        with self._locked(name, "holders.lock"):
            found = self.get(name, image.metadata.digest)
            path = _holder_path(found, holder)
            path.parent.mkdir(mode=0o700, exist_ok=True)
            path.touch()

    def release(self, image: Image, holder: str) -> None:
        """The next `prune` may remove the image. Releasing what is not held is no error."""
        _holder_path(image, holder).unlink(missing_ok=True)

    def holders(self, image: Image) -> list[str]:
        folder = image.root.parent / _HOLDERS
        return sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []

    def lock(self, image: Image) -> None:
        """Keep the image until this process ends. Raises ImageUnavailable if it has been pruned."""
        with self._locked(image.metadata.name, "holders.lock"):
            found = self.get(image.metadata.name, image.metadata.digest)
            descriptor = os.open(found.root.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            fcntl.flock(descriptor, fcntl.LOCK_SH)

    def prune(self) -> list[Image]:
        """Remove the images that are not of a current recipe and that nobody needs; return them."""
        removed = []
        for image in self.list_images():
            name = image.metadata.name
            with self._locked(name, "holders.lock"):
                # Another process may prune at the same time.
                gone = not image.root.exists()
                if gone or self.is_current(image) or self.holders(image) or _is_locked(image):
                    continue
                home = self.directory / name
                for link in home.glob("recipe-*"):
                    if link.readlink() == Path(image.root.parent.name):
                        link.unlink()
                image.root.parent.rename(home / f".removed-{token_hex(8)}")
            removed.append(image)
        leftovers = [*self.directory.glob("*/.removed-*"), *self._list_useless_compiled()]
        for leftover in leftovers:
            shutil.rmtree(leftover, ignore_errors=True)
        return removed

    def _list_useless_compiled(self) -> list[Path]:
        """What PHP has compiled from images of WordPress that were removed."""
        made = self.directory.glob(f"php*/sha256-*/{COMPILED}/sha256-*")
        return [path for path in made if not (self.directory / "wordpress" / path.name).exists()]

    def is_current(self, image: Image) -> bool:
        """Whether new builds or sites would use it."""
        with suppress(ImageUnavailable):
            return self.find(image.metadata.name).metadata.digest == image.metadata.digest
        return False

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
            packages = make_root_filesystem(wanted, fresh / "root")
            metadata = _measure(wanted, fresh / "root", began, packages)
            (fresh / "image.json").write_bytes(msgspec.json.encode(metadata))
            with self._locked(wanted.name, "holders.lock"):
                return _publish(fresh, home / metadata.digest.replace(":", "-"), _link_name(wanted))
        finally:
            shutil.rmtree(fresh, ignore_errors=True)

    @contextmanager
    def _locked(self, name: str, lock: str) -> Iterator[None]:
        home = self.directory / name
        try:
            home.mkdir(parents=True, exist_ok=True)
            for path in (self.directory, home):
                path.chmod(0o755)
            descriptor = os.open(home / lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ImageUnavailable(f"{home} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _measure(wanted: Recipe, root: Path, began: float, packages: Versions) -> ImageMetadata:
    digest, size = digest_tree(root)
    return ImageMetadata(
        name=wanted.name,
        digest=f"sha256:{digest}",
        recipe=wanted.digest,
        bytes=size,
        seconds=round(time.monotonic() - began, 1),
        made_at=time.time(),
        packages=packages,
        note=wanted.note,
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


def _publish(fresh: Path, image: Path, link_name: str) -> Image:
    """Move a complete image to its place, unless the same content is there already, and link it."""
    if image.exists():
        (fresh / "image.json").rename(image / "image.json")
    else:
        fresh.rename(image)
    link = image.parent / f".link-{token_hex(8)}"
    link.symlink_to(image.name)
    link.rename(image.parent / link_name)
    return _read_image(image)


def _holder_path(image: Image, holder: str) -> Path:
    if not _HOLDER.fullmatch(holder):
        raise ValueError(f"not the name of a holder: {holder!r}")
    return image.root.parent / _HOLDERS / holder


def _is_locked(image: Image) -> bool:
    descriptor = os.open(image.root.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(descriptor)


def _read_image(directory: Path) -> Image:
    metadata = msgspec.json.decode((directory / "image.json").read_bytes(), type=ImageMetadata)
    return Image(metadata, directory / "root")


def _link_name(wanted: Recipe) -> str:
    return f"recipe-{wanted.digest[:16]}"
