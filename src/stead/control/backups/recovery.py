"""What operators do after a loss: bring repositories back from the second store, and sites from snapshots."""

import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from stead.control.artifacts.rules import blob_name
from stead.control.backups import maintenance_store as store
from stead.control.backups import offsite
from stead.control.backups.jobs import RESTORE, RestoreWork
from stead.control.backups.maintenance import Maintainer
from stead.control.backups.repairing import RepairedSite, Repairer
from stead.control.backups.repository_leases import RepositoryInUse, RepositoryWanted, run_alone
from stead.control.backups.service import SCOPE
from stead.control.engines.object_store import ObjectStore, ObjectStoreUnavailable
from stead.control.engines.postgres import Database, Tx
from stead.control.engines.restic import ResticFailed
from stead.control.jobs import service as jobs
from stead.control.jobs.repository_access import repository_password_context
from stead.control.sealing import Sealer
from stead.control.settings import Settings, from_environment, object_store_of, second_store_of
from stead.shared.clock import wall_clock

BLOBS = blob_name("")
"""Releases are not a part of any repository."""


REPAIR_FAILED = (ResticFailed, ObjectStoreUnavailable, RepositoryInUse, RepositoryWanted)


class NoSecondStore(Exception):
    """STEAD_OFFSITE_S3_ENDPOINT is not set."""


@dataclass(frozen=True, slots=True)
class RecoveredSite:
    site: str
    files: int
    bytes: int
    seconds: float
    snapshots: int
    lost: int
    """Snapshots that had not been copied yet."""
    problem: str | None = None


class Recovery:
    """Only adds to the first store, so it can be repeated and does no harm to a store that is intact."""

    def __init__(self, database: Database, sealer: Sealer, first: ObjectStore, second: ObjectStore) -> None:
        self._database, self._first, self._second = database, first, second
        self._maintainer = Maintainer(database, sealer, first, second)

    async def recover_releases(self) -> int:
        """Copy all releases back. Returns how many were missing."""
        await self._first.ensure_bucket()
        copied = 0
        async with aclosing(self._second.list_names(BLOBS)) as batches:
            async for names in batches:
                copied += await offsite.copy_missing(self._second, self._first, names)
        return copied

    async def recover_all(self) -> AsyncGenerator[RecoveredSite, None]:
        async with self._database.reading() as tx:
            found = await store.list_all(tx)
        for site in found:
            yield await self.recover_site(site)

    async def recover_site(self, site: str) -> RecoveredSite:
        started = time.monotonic()
        try:
            copied, kept, lost = await run_alone(self._database, site, lambda: self._recover(site))
        except Exception as error:  # noqa: BLE001 - no site keeps the others from returning
            reason = str(error) if isinstance(error, REPAIR_FAILED) and str(error) else type(error).__name__
            return RecoveredSite(site, 0, 0, time.monotonic() - started, 0, 0, reason)
        return RecoveredSite(site, copied.files, copied.bytes, time.monotonic() - started, kept, lost)

    async def _recover(self, site: str) -> tuple[offsite.CopyResult, int, int]:
        async with self._database.transaction() as tx:
            await store.begin_rewriting(tx, site)
        copied = await offsite.copy_repository(self._second, self._first, site)
        repository = await self._maintainer.open(site)
        await repository.unlock()
        await repository.check()
        present = {each.id for each in await repository.list_snapshots()}
        async with self._database.reading() as tx:
            recorded = [each for each in await store.list_snapshots(tx, site) if each.status == "kept"]
        kept = [each for each in recorded if each.restic_id in present]
        await self._maintainer.read_manifests(repository, kept)
        lost = [each.id for each in recorded if each.restic_id not in present]
        async with self._database.transaction() as tx:
            await store.mark_lost(tx, lost)
            await store.end_rewriting(tx, site)
        return copied, len(kept), len(lost)


async def queue_restores(tx: Tx, node: str | None = None) -> int:
    """Queue a job that restores the newest snapshot, for every WordPress environment that was on a lost node.
    With `node` only for those that are on this one now."""
    found = await store.list_newest_of_wordpress(tx, node)
    for each in found:
        subject = jobs.Subject(
            each.site_id,
            each.owner,
            id=each.snapshot_id,
            extra={"env_id": each.env_id, "snapshot_id": each.snapshot_id},
        )
        work = RestoreWork(each.env_id, each.snapshot_id)
        await jobs.enqueue(tx, RESTORE, work, subject, scope=SCOPE, by_platform=True)
    return len(found)


@asynccontextmanager
async def _database(settings: Settings) -> AsyncIterator[Database]:
    database = Database(settings.database_url, clock=wall_clock)
    try:
        yield database
    finally:
        await database.close()


async def restore_newest(node: str | None) -> int:
    async with _database(from_environment()) as database, database.transaction() as tx:
        return await queue_restores(tx, node)


async def read_password(site: str) -> str | None:
    """The password with which restic opens the repository of a site; None if it has none."""
    settings = from_environment()
    async with _database(settings) as database, database.reading() as tx:
        sealed = await store.get_password(tx, site)
    if sealed is None:
        return None
    sealer = Sealer.from_text(settings.sealing_key)
    return sealer.open(sealed, context=repository_password_context(site)).decode()


async def accept_problem(site: str) -> bool:
    async with _database(from_environment()) as database, database.transaction() as tx:
        return await store.accept_problem(tx, site)


async def repair_site(site: str) -> RepairedSite:
    settings = from_environment()
    async with _database(settings) as database:
        sealer, first = Sealer.from_text(settings.sealing_key), object_store_of(settings)
        return await Repairer(database, sealer, first, second_store_of(settings)).repair_site(site)


async def maintain_site(site: str) -> str | None:
    """Maintain one repository now. Returns what stopped it."""
    settings = from_environment()
    async with _database(settings) as database:
        maintainer = Maintainer(
            database,
            Sealer.from_text(settings.sealing_key),
            object_store_of(settings),
            second_store_of(settings),
        )
        if await maintainer.maintain(site):
            return None
        async with database.reading() as tx:
            problem, _ = await store.find_problem(tx, site)
    return problem or "The repository is in use, or a store cannot be reached. Try again later."
