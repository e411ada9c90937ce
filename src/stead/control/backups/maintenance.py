"""Keeps repositories small and intact: removes old snapshots, checks data, copies to the second store.

Everything here can be killed at any point and repeated. Rows of removed snapshots are deleted last, so that
an interrupted removal is done again.
"""

import hashlib
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from datetime import timedelta
from functools import partial

import structlog

from stead.control.artifacts.rules import blob_name
from stead.control.backups import maintenance_store as store
from stead.control.backups import offsite
from stead.control.backups.closing import closed, list_indexes
from stead.control.backups.events import BACKUPS_DAMAGED, BACKUPS_SUSPICIOUS
from stead.control.backups.repository_leases import RepositoryInUse, RepositoryWanted, run_alone
from stead.control.backups.repository_rules import (
    RecordedSnapshot,
    RemovalPlan,
    find_missing,
    find_suspicion,
    plan_removal,
)
from stead.control.engines.object_store import ObjectStore, ObjectStoreUnavailable
from stead.control.engines.postgres import Database
from stead.control.engines.restic import (
    RepositoryDamaged,
    RepositoryMissing,
    ResticFailed,
    ResticInterrupted,
    ResticRepository,
)
from stead.control.jobs.repository_access import repository_password_context
from stead.control.outbox.event_types import EventType
from stead.control.outbox.events import About, publish
from stead.control.sealing import Sealer
from stead.control.sites import service as sites
from stead.shared.repository_layout import repository_prefix

log = structlog.get_logger()

INTERVAL = timedelta(hours=20)
"""Between two times that a repository is maintained."""
RETRY_INTERVAL = timedelta(minutes=30)
"""After maintenance that was interrupted."""
DAYS = 7
"""A seventh of the data is read every day, and all of it before anything is removed."""
BATCH = 20
MANIFEST = "/manifest.json"
UNAVAILABLE = (RepositoryInUse, RepositoryWanted, ResticInterrupted, ObjectStoreUnavailable)
"""What is tried again later."""


class SuspicionFound(Exception):
    """Something looks wrong, and nothing was removed."""


class Maintainer:
    def __init__(
        self, database: Database, sealer: Sealer, objects: ObjectStore, second: ObjectStore | None
    ) -> None:
        self._database, self._sealer = database, sealer
        self._objects, self._second = objects, second

    async def maintain_due(self) -> None:
        """Maintain the repositories that are due, one after the other."""
        async with self._database.reading() as tx:
            due = await store.list_due(tx, limit=BATCH)
        for site in due:
            await self.maintain(site)

    async def copy_new(self) -> None:
        """Copy repositories with snapshots that are not in the second store."""
        if self._second is None:
            return
        async with self._database.reading() as tx:
            waiting = await store.list_uncopied(tx, limit=BATCH)
        for site in waiting:
            async with self._database.transaction() as tx:
                await store.record_copy_tried(tx, site)
            await self._try(site, partial(self._copy, site))

    async def maintain(self, site: str) -> bool:
        """Returns whether it was done completely."""
        return await self._try(site, partial(self._maintain, site))

    async def _try(self, site: str, work: Callable[[], Awaitable[None]]) -> bool:
        try:
            await run_alone(self._database, site, work)
        except SuspicionFound as suspicion:
            await self._report(site, BACKUPS_SUSPICIOUS, str(suspicion))
        except UNAVAILABLE as error:
            await self._postpone(site, error)
        except ResticFailed as damage:
            # Whatever it is, it belongs to one site: the others are maintained nevertheless.
            await self._report(site, BACKUPS_DAMAGED, damage.reason)
        except Exception as error:
            # Nodes write repositories: none may stop what others need.
            log.exception("backups.maintenance_failed", site=site)
            await self._postpone(site, error)
        else:
            return True
        return False

    async def _postpone(self, site: str, error: Exception) -> None:
        """Others come first from now on."""
        log.warning("backups.maintenance_postponed", site=site, reason=type(error).__name__)
        async with self._database.transaction() as tx:
            await store.postpone(tx, site, until=tx.now + RETRY_INTERVAL)

    async def _maintain(self, site: str) -> None:
        async with self._database.reading() as tx:
            is_over = await store.is_over(tx, site)
        if is_over:
            await self._discard(site)
            return
        repository = await self.open(site)
        await repository.unlock()
        found = await repository.list_snapshots()
        async with self._database.reading() as tx:
            recorded, now = await store.list_snapshots(tx, site), tx.now
            problem, accepted_at = await store.find_problem(tx, site)
        if missing := find_missing(recorded, found):
            raise RepositoryDamaged(f"the snapshot {missing[0]} is missing")
        suspicion = find_suspicion(recorded, found, now)
        if suspicion is not None and not (suspicion == problem and accepted_at is not None):
            raise SuspicionFound(suspicion)
        plan = plan_removal(recorded, found)
        if plan.forget or plan.rows:
            await self._remove(site, repository, plan)
        else:
            await repository.check(f"{now.toordinal() % DAYS + 1}/{DAYS}")
        stored = sum((await offsite.list_files(self._objects, site)).values())
        async with self._database.transaction() as tx:
            await store.delete_snapshots(tx, list(plan.rows))
            await store.record_maintained(
                tx, site, stored_bytes=stored, pruned=bool(plan.forget), due_at=tx.now + INTERVAL
            )
        # Of the first store nothing is done again if the second one is down.
        if self._second is not None:
            await self._copy(site)
            await offsite.remove_extra(self._objects, self._second, site)

    async def _discard(self, site: str) -> None:
        """Remove the repository of a site that was deleted for good."""
        for objects in filter(None, (self._objects, self._second)):
            async with aclosing(objects.list_names(repository_prefix(site))) as batches:
                names = [name async for batch in batches for name in batch]
            await objects.delete(names)
        async with self._database.transaction() as tx:
            await store.delete_repository(tx, site)

    async def _remove(self, site: str, repository: ResticRepository, plan: RemovalPlan) -> None:
        """All data is read first. A node could have added an index that names rubbish in place of good data,
        and then the good data would look superfluous. An upload that had begun before the repository was
        closed may end later, so the indexes are compared."""
        async with closed(self._database, self._objects, site):
            indexes = await list_indexes(self._objects, site)
            await repository.check("100%")
            if await list_indexes(self._objects, site) != indexes:
                raise SuspicionFound("A node added an index while the repository was closed.")
            await self._rewrite(site, repository, plan)

    async def _rewrite(self, site: str, repository: ResticRepository, plan: RemovalPlan) -> None:
        async with self._database.transaction() as tx:
            await store.begin_rewriting(tx, site)
        if plan.forget:
            await repository.forget(plan.forget)
        await repository.prune()
        await repository.check()
        left = {each.id for each in await repository.list_snapshots()}
        if lost := set(plan.keep) - left:
            raise RepositoryDamaged(f"{len(lost)} snapshots are missing after others were removed")
        async with self._database.transaction() as tx:
            await store.end_rewriting(tx, site)

    async def _copy(self, site: str) -> None:
        """Snapshots count as copied only after the copy was read: a sample of the files, and each of the
        manifests through restic."""
        if self._second is None:
            return
        async with self._database.reading() as tx:
            recorded = await store.list_snapshots(tx, site)
            blobs = await store.list_blobs_of_releases(tx, site)
        await self._second.ensure_bucket()
        copied = await offsite.copy_repository(self._objects, self._second, site)
        await offsite.copy_missing(self._objects, self._second, [blob_name(each) for each in blobs])
        new = [each for each in recorded if each.status == "kept" and each.synced_at is None]
        await self.read_manifests(await self.open(site, self._second), new)
        async with self._database.transaction() as tx:
            await store.mark_synced(tx, [each.id for each in new])
        log.info("backups.copied", site=site, files=copied.files, bytes=copied.bytes)

    async def read_manifests(
        self, repository: ResticRepository, snapshots: Sequence[RecordedSnapshot]
    ) -> None:
        for each in snapshots:
            if each.restic_id is None:
                continue
            content = await repository.read_file(each.restic_id, MANIFEST)
            if f"sha256:{hashlib.sha256(content).hexdigest()}" != each.manifest_digest:
                raise RepositoryDamaged(f"the manifest of the snapshot {each.id} is another one")

    async def open(self, site: str, objects: ObjectStore | None = None) -> ResticRepository:
        async with self._database.reading() as tx:
            sealed = await store.get_password(tx, site)
        if sealed is None:
            raise RepositoryMissing("the site has no repository")
        password = self._sealer.open(sealed, context=repository_password_context(site)).decode()
        return ResticRepository((objects or self._objects).location, site, password)

    async def _report(self, site: str, event: EventType, problem: str) -> None:
        log.warning("backups.maintenance_stopped", site=site, problem=problem)
        async with self._database.transaction() as tx:
            if await store.record_problem(tx, site, problem, due_at=tx.now + INTERVAL):
                facts = await sites.get_facts(tx, site)
                about = About(account_id=facts.account_id, team_id=facts.team_id, site_id=site)
                await publish(tx, event, about, domain=facts.domain, reason=problem)
