"""Repositories of snapshots in a directory, made by restic itself."""

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stead.protocol.work.snapshots import (
    RepositoryAccess,
    RestoreSnapshot,
    SnapshotTaken,
    TakeSnapshot,
    VerifySnapshot,
)
from stead.shared.ids import new_id
from tests.node.wordpress.wordpress_node import Site

PASSWORD = "the password of a repository"


@dataclass
class LocalRepository:
    path: Path
    password: str = field(default=PASSWORD, repr=False)

    def __post_init__(self) -> None:
        if not self.path.exists():
            self.restic("init")
        # Files are restored as the user of a site, who reads the repository in these tests.
        for folder, _, files in os.walk(self.path):
            Path(folder).chmod(0o755)
            for name in files:
                (Path(folder) / name).chmod(0o644)

    @property
    def access(self) -> RepositoryAccess:
        return RepositoryAccess(str(self.path), self.password)

    def restic(self, *words: str) -> str:
        environment = {**os.environ, "RESTIC_REPOSITORY": str(self.path), "RESTIC_PASSWORD": self.password}
        done = subprocess.run(
            ["restic", "--no-cache", *words],  # noqa: S607
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def open_to_all(self) -> None:
        self.__post_init__()

    def list_snapshots(self) -> list[dict[str, Any]]:
        return list(json.loads(self.restic("snapshots", "--json") or "[]") or [])


async def take(site: Site, repository: LocalRepository, snapshot: str = "", **more: Any) -> SnapshotTaken:
    work = TakeSnapshot("cms", repository.access, snapshot or new_id("snap"), **more)
    taken = await site.node.runtime.snapshots.take(site.assignment, work)
    repository.open_to_all()
    return taken


def verification(
    repository: LocalRepository, snapshot: str, taken: SnapshotTaken, **more: Any
) -> VerifySnapshot:
    return VerifySnapshot("cms", repository.access, snapshot, taken.restic_id, taken.manifest_digest, **more)


def restoration(
    site: Site, repository: LocalRepository, snapshot: str, taken: SnapshotTaken, **more: Any
) -> RestoreSnapshot:
    dataset, settings = new_id("job")[-14:], site.node.settings(site, admin_password="")
    known = (snapshot, taken.restic_id, taken.manifest_digest)
    return RestoreSnapshot("cms", repository.access, *known, dataset, **{"wordpress": settings, **more})
