"""A site of the database with a repository, and snapshots that a node took through the gateway."""

import asyncio
import hashlib
import os
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

import msgspec

from stead.control.app import ControlPlane
from stead.control.backups.maintenance import Maintainer
from stead.control.backups.repositories import ensure_repository
from stead.control.engines.object_store import ObjectStore
from stead.control.engines.restic import ResticRepository
from stead.control.jobs.definition import NotYet, WorkerContext
from stead.control.jobs.repository_access import RepositoryGateway
from stead.control.sealing import Sealer
from stead.shared.ids import new_id
from tests.control.site_driver import create_site
from tests.patience import time_limit
from tests.people import Person
from tests.repositories.site_backups import BackedUpSite, Gateway

MEGABYTE = 1024 * 1024


@dataclass(frozen=True)
class Taken:
    id: str
    restic_id: str
    checksums: dict[str, str]


@dataclass(frozen=True)
class Worker:
    """What a worker has: the database, the keys and both stores."""

    plane: ControlPlane
    gateway: Gateway
    second: ObjectStore

    @property
    def sealer(self) -> Sealer:
        return Sealer.from_text(self.plane.settings.sealing_key)

    @property
    def context(self) -> WorkerContext:
        return WorkerContext(
            database=self.plane.database,
            objects=self.gateway.store.objects(),
            sealer=self.sealer,
            repositories=RepositoryGateway(self.gateway.url, self.gateway.key, self.gateway.store),
        )

    def maintainer(self, *, offsite: bool = False) -> Maintainer:
        return Maintainer(
            self.plane.database,
            self.sealer,
            self.gateway.store.objects(),
            self.second if offsite else None,
        )

    async def ensure_repository(self, site: str) -> None:
        """As the steps of jobs do it, which are repeated."""
        async with time_limit(60):
            while True:
                try:
                    return await ensure_repository(self.context, site)
                except NotYet:
                    await asyncio.sleep(0.2)

    async def new_site(self, person: Person, folder: Path) -> "MaintainedSite":
        created = await create_site(await person.key())
        site = created["id"]
        await self.ensure_repository(site)
        repository = await self.maintainer().open(site)
        async with self.plane.database.reading() as tx:
            env = await tx.value("select id from environments where site_id = $1", site)
        return MaintainedSite(
            self, BackedUpSite(self.gateway, site, repository._password), env, folder, repository
        )


@dataclass
class MaintainedSite:
    worker: Worker
    site: BackedUpSite
    env: str
    folder: Path
    repository: ResticRepository
    taken: list[Taken] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.site.id

    async def take_snapshot(
        self,
        *restic: str,
        size: int = 2 * MEGABYTE,
        kept: bool = True,
        recorded_size: int | None = None,
        host: str | None = None,
    ) -> Taken:
        """As a node and a job do it together."""
        snapshot = new_id("snap")
        manifest = fill(self.folder, snapshot, size)
        words = ("--tag", snapshot, "--host", host or self.env, *restic)
        await self.site.back_up(self.folder, *words)
        found = [each for each in await self.repository.list_snapshots() if snapshot in (each.tags or ())]
        taken = Taken(snapshot, found[0].id, checksums(self.folder))
        self.taken.append(taken)
        await self.sql(
            "insert into snapshots (id, site_id, env_id, job_id, kind, status, runtime, document, full_check,"
            " restic_id, manifest_digest, size_bytes, taken_at, stored_at) values"
            " ($1, $2, $3, $4, 'scheduled', $5, 'static', '{}', false, $6, $7, $8, now(), now())",
            *(snapshot, self.id, self.env, new_id("job"), "kept" if kept else "failed", taken.restic_id),
            *(f"sha256:{hashlib.sha256(manifest).hexdigest()}", recorded_size or size),
        )
        return taken

    async def expire(self, taken: Taken) -> None:
        await self.sql(
            "update snapshots set expires_at = $2 where id = $1",
            *(taken.id, self.worker.plane.database.now() - timedelta(minutes=1)),
        )

    async def sql(self, statement: str, *args: object) -> None:
        async with self.worker.plane.database.transaction() as tx:
            await tx.run(statement, *args)

    async def value(self, statement: str) -> object:
        """`$1` is the site."""
        async with self.worker.plane.database.reading() as tx:
            return await tx.value(statement, self.id)

    async def maintain(self, *, offsite: bool = False) -> bool:
        return await self.worker.maintainer(offsite=offsite).maintain(self.id)

    async def list_restic_ids(self) -> set[str]:
        return {each.id for each in await self.repository.list_snapshots()}

    async def require_restorable(self, taken: Taken, target: Path) -> None:
        await self.site.restore(target, taken.restic_id)
        assert checksums(target) == taken.checksums

    async def list_events(self) -> list[str]:
        async with self.worker.plane.database.reading() as tx:
            return await tx.all(
                str,
                "select type from events where site_id = $1 and type like 'snapshot.%' order by id",
                self.id,
            )


def fill(folder: Path, snapshot: str, size: int) -> bytes:
    """Content of which half stays the same from one snapshot to the next. Returns the manifest."""
    manifest = msgspec.json.encode({"snapshot": snapshot})
    folder.mkdir(exist_ok=True)
    (folder / "manifest.json").write_bytes(manifest)
    files = folder / "files"
    files.mkdir(exist_ok=True)
    if not (files / "constant").exists():
        (files / "constant").write_bytes(os.urandom(size // 2))
    (files / "changing").write_bytes(os.urandom(size // 2))
    return manifest


def checksums(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }
