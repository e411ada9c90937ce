"""Which names an artifact may contain: names that mean the same on every file system, and that cannot lead to
another directory."""

import re
import unicodedata
from collections.abc import Iterator
from enum import Enum

from stead.artifacts.limits import SizeLimits

MAX_PART_BYTES = 255
_DRIVE = re.compile(r"[A-Za-z]:")


class EntryKind(Enum):
    FILE = "a file"
    DIRECTORY = "a directory"
    LINK = "a link"


class NameRefused(Exception):
    """The text is the reason; `large` says that the name only exceeds a limit. The caller knows the name."""

    def __init__(self, reason: str, *, large: bool = False) -> None:
        super().__init__(reason)
        self.large = large


def check_part(part: str) -> None:
    """Check one component of a path."""
    if part in ("", ".", ".."):
        raise NameRefused(f"a part of the name is {part!r}")
    if "/" in part or "\\" in part:
        raise NameRefused("a part of the name holds a slash or backslash")
    if not part.isprintable() and any(unicodedata.category(letter) == "Cc" for letter in part):
        raise NameRefused("the name holds a control character")
    try:
        length = len(part.encode())
    except UnicodeEncodeError:
        raise NameRefused("the name is not UTF-8") from None
    if length > MAX_PART_BYTES:
        raise NameRefused(f"a part of the name is longer than {MAX_PART_BYTES} bytes", large=True)


def fold(path: str) -> str:
    """Equal for names that a case-insensitive or Unicode-normalizing file system cannot tell apart."""
    if path.isascii():
        return path.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", path).casefold())


class EntryNames:
    """All names of an archive or tree, so that no two of them can mean the same file."""

    def __init__(self, limits: SizeLimits) -> None:
        self._limits = limits
        self._kinds: dict[str, EntryKind] = {}
        self._implied: set[str] = set()
        self._folded: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._kinds)

    def kind(self, path: str) -> EntryKind | None:
        return self._kinds.get(path)

    def top_level(self) -> Iterator[tuple[str, EntryKind]]:
        """The entries in the root directory."""
        return ((path, kind) for path, kind in self._kinds.items() if "/" not in path)

    def add(self, path: str, kind: EntryKind) -> None:
        """The parts of `path` must have been checked."""
        known = self._kinds.get(path)
        if known is not None:
            if known is kind is EntryKind.DIRECTORY and path in self._implied:
                self._implied.remove(path)
                return
            raise NameRefused("the name is there twice")
        if path.count("/") >= self._limits.depth:
            raise NameRefused(f"it lies deeper than {self._limits.depth} levels", large=True)
        if len(path.encode()) > self._limits.path_bytes:
            raise NameRefused(f"the path is longer than {self._limits.path_bytes} bytes", large=True)
        if _DRIVE.match(path):
            raise NameRefused("the name begins with a drive letter")
        self._insert(path, kind)

    def _insert(self, path: str, kind: EntryKind) -> None:
        parent = path.rpartition("/")[0]
        if parent:
            parent_kind = self._kinds.get(parent)
            if parent_kind is None:
                self._insert(parent, EntryKind.DIRECTORY)
                self._implied.add(parent)
            elif parent_kind is not EntryKind.DIRECTORY:
                raise NameRefused(f"it lies below {parent_kind.value}")
        if len(self._kinds) >= self._limits.entries:
            raise NameRefused(f"there are more than {self._limits.entries} entries", large=True)
        twin = self._folded.setdefault(fold(path), path)
        if twin != path:
            raise NameRefused("another name differs only in case or in its form of Unicode")
        self._kinds[path] = kind
