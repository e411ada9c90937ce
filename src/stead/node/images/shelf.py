"""Where images are kept: `<name>/<digest of content>/`, read-only, and a link from each recipe to what came
of it. Any number of processes may ask for one at once; one of them makes it."""

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

from stead.node.images.making import make
from stead.node.images.recipe import NoImage, Recipe, recipe


class Label(msgspec.Struct, frozen=True):
    """Beside the root file system, in `image.json`."""

    name: str
    digest: str
    recipe: str
    bytes: int
    seconds: float
    made_at: float


@dataclass(frozen=True)
class Image:
    label: Label
    root: Path


def default_place() -> Path:
    if given := os.environ.get("STEAD_IMAGES"):
        return Path(given)
    if os.geteuid() == 0:
        return Path("/var/lib/stead/images")
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "stead" / "images"


class Shelf:
    def __init__(self, place: Path | None = None) -> None:
        self.place = place or default_place()

    def find(self, name: str) -> Image:
        """The image of today's recipe; raises NoImage when nobody has made it."""
        link = self.place / name / _link(recipe(name))
        try:
            return _read(link.resolve(strict=True))
        except OSError:
            raise NoImage(f"there is no image {name} in {self.place}: run steadctl images build") from None

    def ensure(self, name: str, begun: Callable[[], None] = lambda: None) -> Image:
        """Makes it if it is not there. Blocks for about a minute then, also while another makes it."""
        wanted = recipe(name)
        try:
            return self.find(name)
        except NoImage:
            with self._alone(name):
                try:
                    return self.find(name)
                except NoImage:
                    begun()
                    return self._make(wanted)

    def listed(self) -> list[Image]:
        found = [path.parent for path in self.place.glob("*/sha256-*/image.json")]
        return sorted((_read(path) for path in found), key=lambda image: image.label.made_at)

    def _make(self, wanted: Recipe) -> Image:
        home, began = self.place / wanted.name, time.monotonic()
        for left in home.glob(".making-*"):
            shutil.rmtree(left)
        fresh = home / f".making-{token_hex(8)}"
        fresh.mkdir()
        # A mapped root enters it: whatever the umask, others may pass.
        fresh.chmod(0o755)
        try:
            root = fresh / "root"
            make(wanted, root)
            digest, size = contents(root)
            label = Label(
                wanted.name,
                f"sha256:{digest}",
                wanted.digest,
                size,
                round(time.monotonic() - began, 1),
                time.time(),
            )
            (fresh / "image.json").write_bytes(msgspec.json.encode(label))
            place = home / f"sha256-{digest}"
            if not place.exists():
                fresh.rename(place)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
        link = home / f".link-{token_hex(8)}"
        link.symlink_to(place.name)
        link.rename(home / _link(wanted))
        return _read(place)

    @contextmanager
    def _alone(self, name: str) -> Iterator[None]:
        home = self.place / name
        try:
            home.mkdir(parents=True, exist_ok=True)
            for path in (self.place, home):
                path.chmod(0o755)
            descriptor = os.open(home / "lock", os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise NoImage(f"{home} cannot be written: {error.strerror}") from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def contents(root: Path) -> tuple[str, int]:
    """The digest of a tree — names, kinds, modes, owners, contents — and how many bytes its files have."""
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


def _read(place: Path) -> Image:
    return Image(msgspec.json.decode((place / "image.json").read_bytes(), type=Label), place / "root")


def _link(wanted: Recipe) -> str:
    return f"recipe-{wanted.digest[:16]}"
