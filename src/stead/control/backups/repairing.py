"""Repairs a repository: replaces or removes damaged files, and marks the snapshots that need what is lost.

Only an operator starts it, because it removes files. A file whose content does not fit its name was damaged
in the store, and is replaced from the second store if that has it. A pack that fits its name, but not what it
says about itself, was written by a hostile node. The index is made again from the packs, so no index of a
node is believed.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from stead.control.backups import maintenance_store as store
from stead.control.backups import offsite
from stead.control.backups.closing import closed
from stead.control.backups.events import BACKUPS_DAMAGED
from stead.control.backups.maintenance import Maintainer
from stead.control.backups.repository_leases import run_alone
from stead.control.backups.repository_rules import RecordedSnapshot
from stead.control.engines.object_store import ObjectMissing, ObjectStore
from stead.control.engines.postgres import Database
from stead.control.engines.restic import RepositoryDamaged, ResticRepository
from stead.control.outbox.events import About, publish
from stead.control.sealing import Sealer
from stead.control.sites import service as sites
from stead.shared.repository_layout import RepositoryFile

ROUNDS = 5
"""How often packs are removed that restic names. Each time it names all that it finds."""
REMOVABLE = ("data", "index", "snapshots")
"""Without a key or the configuration, nothing can be read."""


@dataclass(frozen=True, slots=True)
class RepairedSite:
    replaced: int
    """Files that came from the second store."""
    removed: int
    lost: tuple[str, ...]
    """Snapshots that cannot be restored any more."""


class Repairer:
    def __init__(
        self, database: Database, sealer: Sealer, first: ObjectStore, second: ObjectStore | None
    ) -> None:
        self._database, self._first, self._second = database, first, second
        self._maintainer = Maintainer(database, sealer, first, second)

    async def repair_site(self, site: str) -> RepairedSite:
        """Can be repeated. Raises ResticFailed, RepositoryInUse, RepositoryWanted or
        ObjectStoreUnavailable."""
        return await run_alone(self._database, site, lambda: self._repair(site))

    async def _repair(self, site: str) -> RepairedSite:
        repository = await self._maintainer.open(site)
        async with closed(self._database, self._first, site):
            async with self._database.transaction() as tx:
                await store.begin_rewriting(tx, site)
            replaced, removed = await self._replace_damaged(site)
            await repository.unlock()
            removed += await self._remove_unreadable(site, repository)
            lost = await self._find_lost(site, repository)
            await self._record(site, [each.id for each in lost])
            # Otherwise every check would find that their data is missing.
            names = [each.restic_id for each in lost if each.restic_id is not None]
            await self._first.delete([RepositoryFile("snapshots", name).key(site) for name in names])
        return RepairedSite(replaced, removed, tuple(each.id for each in lost))

    async def _replace_damaged(self, site: str) -> tuple[int, int]:
        """Files whose content does not fit their name, and packs and snapshots that are missing."""
        files = await offsite.list_files(self._first, site)
        damaged = [key for key in files if await _is_damaged(self._first, key)]
        wanted = damaged + await self._list_missing(site, set(files))
        replaced = [key for key in wanted if await self._replace(key)]
        gone = [key for key in damaged if key not in replaced]
        if kept := [key for key in gone if offsite.kind_of(key, site) not in REMOVABLE]:
            raise RepositoryDamaged(f"{kept[0]} is damaged, and cannot be replaced")
        await self._first.delete(gone)
        return len(replaced), len(gone)

    async def _list_missing(self, site: str, present: set[str]) -> list[str]:
        if self._second is None:
            return []
        copies = await offsite.list_files(self._second, site)
        return [
            key
            for key in copies
            if key not in present and offsite.kind_of(key, site) in ("data", "snapshots")
        ]

    async def _replace(self, key: str) -> bool:
        if self._second is None:
            return False
        try:
            await offsite.copy_objects(self._second, self._first, [key])
        except (ObjectMissing, RepositoryDamaged):
            return False
        return True

    async def _remove_unreadable(self, site: str, repository: ResticRepository) -> int:
        """Snapshots that nobody asked for or that were lost, and packs that restic cannot read."""
        async with self._database.reading() as tx:
            recorded = await store.list_snapshots(tx, site)
        known = {each.restic_id for each in recorded if each.status != "failed"}
        keys = list(await offsite.list_files(self._first, site))
        unknown = [
            key
            for key in keys
            if offsite.kind_of(key, site) == "snapshots" and key.rpartition("/")[2] not in known
        ]
        if not any(each.status == "taking" and each.restic_id is None for each in recorded):
            await self._first.delete(unknown)
        else:
            unknown = []
        packs = [key for key in keys if offsite.kind_of(key, site) == "data"]
        removed = 0
        for _ in range(ROUNDS):
            await repository.rebuild_index()
            unreadable = _select(packs, await repository.find_damaged_packs())
            if not unreadable:
                break
            await self._first.delete(unreadable)
            packs = [key for key in packs if key not in unreadable]
            removed += len(unreadable)
        return len(unknown) + removed

    async def _find_lost(self, site: str, repository: ResticRepository) -> list[RecordedSnapshot]:
        present = {each.id for each in await repository.list_snapshots()}
        async with self._database.reading() as tx:
            recorded = [each for each in await store.list_snapshots(tx, site) if each.status == "kept"]
        return [
            each
            for each in recorded
            if each.restic_id not in present or not await repository.has_all_data(each.restic_id)
        ]

    async def _record(self, site: str, lost: Sequence[str]) -> None:
        async with self._database.transaction() as tx:
            await store.mark_lost(tx, list(lost))
            await store.end_rewriting(tx, site)
            await store.record_repaired(tx, site)
            if lost:
                facts = await sites.get_facts(tx, site)
                about = About(account_id=facts.account_id, team_id=facts.team_id, site_id=site)
                reason = f"these snapshots are damaged and cannot be restored: {', '.join(lost)}"
                await publish(tx, BACKUPS_DAMAGED, about, domain=facts.domain, reason=reason)


async def _is_damaged(objects: ObjectStore, key: str) -> bool:
    """Read twice before it counts as damaged: the connection may have been."""
    for _ in range(2):
        try:
            await asyncio.to_thread(offsite.read_object, objects, key)
        except RepositoryDamaged:
            continue
        return False
    return True


def _select(keys: Sequence[str], names: Sequence[str]) -> list[str]:
    """Keys of packs. restic may name only the beginning."""
    return [key for key in keys if key.rpartition("/")[2].startswith(tuple(names))] if names else []
