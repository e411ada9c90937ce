"""Where a node keeps what it needs for the snapshots of an environment.

| Path below `hosting/snapshots/<environment>` | Content |
|---|---|
| `tree/` | what is being stored or restored; it contains all rows of the site, and never outlives the work |
| `cache/` | of restic: the index of the repository, encrypted |
| `hashes` | of the files in the last snapshot |
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from stead.node.containers.disks import unmount_below


@dataclass(frozen=True)
class SnapshotPlace:
    home: Path

    @property
    def tree(self) -> Path:
        return self.home / "tree"

    @property
    def cache(self) -> Path:
        return self.home / "cache"

    @property
    def hashes(self) -> Path:
        return self.home / "hashes"

    def make_empty(self) -> None:
        """Begin, without what work that was interrupted has left. Blocks."""
        self.clear()
        # Users of sites pass through them, and cannot list them.
        for directory in (self.home.parent, self.home, self.tree):
            directory.mkdir(mode=0o711, parents=True, exist_ok=True)
        self.cache.mkdir(mode=0o700, exist_ok=True)

    def clear(self) -> None:
        """Blocks."""
        unmount_below(self.tree)
        if self.tree.exists():
            shutil.rmtree(self.tree)
        for file in self.cache.glob("restic-temp-*"):
            file.unlink(missing_ok=True)

    def remove(self) -> None:
        """Blocks."""
        self.clear()
        shutil.rmtree(self.home, ignore_errors=True)


def clear_all(home: Path) -> None:
    """After a crash. Blocks."""
    for directory in home.glob("*"):
        SnapshotPlace(directory).clear()
