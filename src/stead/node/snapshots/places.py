"""Where a node keeps what it needs for the snapshots of an environment.

| Path below `hosting/snapshots/<environment>` | Content |
|---|---|
| `tree/` | what is being stored or restored; it contains all rows of the site, and never outlives the work |
| `cache/` | of restic: the index of the repository, encrypted |
| `hashes` | of the files in the last snapshot |
| `attempt` | the snapshot that was last begun |
| `manifest` | of the last snapshot |
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from stead.node.containers.disks import unmount_below
from stead.node.drivers.layout import write_file


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

    @property
    def manifest(self) -> Path:
        return self.home / "manifest"

    def begin_attempt(self, snapshot: str) -> None:
        """Remember that this snapshot may be in the repository from now on. Blocks."""
        write_file(self._attempt, snapshot.encode(), mode=0o600)

    def was_attempted(self, snapshot: str) -> bool:
        """Whether it may be there already. Blocks."""
        return self._attempt.exists() and self._attempt.read_bytes() == snapshot.encode()

    @property
    def _attempt(self) -> Path:
        return self.home / "attempt"

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
