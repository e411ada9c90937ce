"""Files without which a site may not answer any more, and the copies of them that are known to be good.

The main file of a plugin or theme that the site uses is not moved, unless its image of WordPress has the same
version of the component: then it is replaced by that copy. So are all other files of such components.
"""

import re
import stat
from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from stead.node.scanning.inventory import list_components
from stead.node.scanning.paths import PathRefused, read_beginning, to_key

_MAIN_FILE = re.compile(rb"^[ \t/*#@<?ph]{0,40}Plugin Name:", re.IGNORECASE | re.MULTILINE)
_THEME_FILES = ("functions.php", "style.css", "index.php")
_TYPES = {"plugins": "plugin", "themes": "theme"}


@dataclass(frozen=True)
class MainFiles:
    """`content` is the `wp-content` of a site, `good` the one of its image. `active` has what the database
    names: `folder/file.php` of plugins, and folders of themes; None if it is not known."""

    content: Path
    good: Path
    core: Path
    active: Collection[str] | None = None

    def may_move(self, path: str) -> bool:
        return not self.is_needed(path) or self.find_good(path) is not None

    def is_needed(self, path: str) -> bool:
        match path.split("/"):
            case [_, "plugins", folder, name] if name.endswith(".php"):
                return self._is_active(f"{folder}/{name}") and self._has_header(path)
            case [_, "plugins", name] if name.endswith(".php"):
                return self._is_active(name) and self._has_header(path)
            case [_, "themes", folder, name]:
                return name in _THEME_FILES and self._is_active(folder)
        return False

    def find_good(self, path: str) -> Path | None:
        """The file of the image that has the same path, if its component has the same version."""
        try:
            _, *key = to_key(path)
        except PathRefused:
            return None
        folder, slug = (each.decode(errors="replace") for each in (*key, b"", b"")[:2])
        file = self.good.joinpath(*(part.decode(errors="surrogateescape") for part in key))
        if folder not in _TYPES or len(key) < 3 or not _is_file(file):
            return None
        own = self._versions.get((_TYPES[folder], slug.lower()))
        return file if own and own == self._good_versions.get((_TYPES[folder], slug.lower())) else None

    @cached_property
    def _versions(self) -> dict[tuple[str, str], str]:
        return _list_versions(self.content, self.core)

    @cached_property
    def _good_versions(self) -> dict[tuple[str, str], str]:
        return _list_versions(self.good, self.core)

    def _is_active(self, name: str) -> bool:
        return self.active is None or name in self.active

    def _has_header(self, path: str) -> bool:
        return _MAIN_FILE.search(read_beginning(self.content, path)) is not None


def _list_versions(content: Path, core: Path) -> dict[tuple[str, str], str]:
    return {(each.type, each.slug): each.version for each in list_components(content, core)}


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except (OSError, ValueError):
        return False
