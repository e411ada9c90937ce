"""Repairing a repository: what is intact stays, what is lost is named."""

from pathlib import Path

from stead.control.backups import offsite
from stead.control.backups.repairing import Repairer
from stead.control.engines.object_store import ObjectStore
from tests.repositories.crafted_index import craft_index
from tests.repositories.maintained_site import MaintainedSite


def repairer(site: MaintainedSite, second: ObjectStore | None = None) -> Repairer:
    worker = site.worker
    return Repairer(worker.plane.database, worker.sealer, worker.gateway.store.objects(), second)


async def list_packs(site: MaintainedSite) -> set[str]:
    files = await offsite.list_files(site.worker.gateway.store.objects(), site.id)
    return {key for key in files if "/data/" in key}


async def damage(site: MaintainedSite, packs: set[str]) -> None:
    objects = site.worker.gateway.store.objects()
    for key in packs:
        content = bytearray(await objects.get(key, max_bytes=1 << 26))
        content[len(content) // 2] ^= 1
        await objects.put(key, bytes(content))


async def test_only_snapshots_that_need_a_damaged_pack_are_lost(site: MaintainedSite, tmp_path: Path):
    first = await site.take_snapshot()
    before = await list_packs(site)
    second = await site.take_snapshot()
    await damage(site, await list_packs(site) - before)
    repaired = await repairer(site).repair_site(site.id)
    assert repaired.lost == (second.id,)
    assert repaired.replaced == 0 < repaired.removed
    await site.require_restorable(first, tmp_path / "restored")
    # The next maintenance removes what is left of the lost one, and finds nothing else.
    assert await site.maintain()
    assert await site.list_restic_ids() == {first.restic_id}
    await site.require_restorable(first, tmp_path / "again")


async def test_damaged_and_missing_files_come_from_the_second_store(site: MaintainedSite, tmp_path: Path):
    taken = [await site.take_snapshot(), await site.take_snapshot()]
    assert await site.maintain(offsite=True)
    damaged, *missing = sorted(await list_packs(site))
    await damage(site, {damaged})
    await site.worker.gateway.store.objects().delete(missing)
    repaired = await repairer(site, site.worker.second).repair_site(site.id)
    assert (repaired.replaced, repaired.removed, repaired.lost) == (1 + len(missing), 0, ())
    for number, each in enumerate(taken):
        await site.require_restorable(each, tmp_path / str(number))
    assert await site.maintain(offsite=True)


async def test_what_a_hostile_node_has_written_is_removed(site: MaintainedSite, tmp_path: Path):
    taken = await site.take_snapshot()
    assert await craft_index(site.site.gateway.token(site.id), site.site.password) == 200
    repaired = await repairer(site).repair_site(site.id)
    assert repaired.lost == ()
    await site.require_restorable(taken, tmp_path / "restored")
    assert await site.maintain()
