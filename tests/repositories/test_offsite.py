"""The second store: complete, verified, and enough to get everything back."""

import asyncio
import time
from pathlib import Path

from stead.control.backups import offsite
from stead.control.backups.recovery import Recovery
from stead.control.engines.restic import ResticRepository
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.running_stack import RunningStack
from stead.shared.repository_layout import repository_prefix
from tests.conftest import FIGURE
from tests.people import Person
from tests.repositories.maintained_site import MaintainedSite, Worker


async def copy(site: MaintainedSite) -> None:
    maintainer = site.worker.maintainer(offsite=True)
    await maintainer._try(site.id, lambda: maintainer._copy(site.id))


def second_repository(site: MaintainedSite) -> ResticRepository:
    return ResticRepository(site.worker.second.location, site.id, site.repository._password)


async def test_a_snapshot_counts_as_copied_when_its_copy_was_read(site: MaintainedSite):
    taken = await site.take_snapshot()
    assert await site.value("select synced_at from snapshots where site_id = $1") is None
    await copy(site)
    assert await site.value("select synced_at from snapshots where site_id = $1") is not None
    await second_repository(site).check("100%")
    assert [each.id for each in await second_repository(site).list_snapshots()] == [taken.restic_id]


async def test_a_copy_with_another_manifest_does_not_count(site: MaintainedSite):
    await site.take_snapshot()
    await site.sql(
        "update snapshots set manifest_digest = $2 where site_id = $1", site.id, "sha256:" + "0" * 64
    )
    await copy(site)
    assert await site.value("select synced_at from snapshots where site_id = $1") is None
    assert await site.list_events() == ["snapshot.damaged"]


async def test_damage_in_the_first_store_is_not_copied(site: MaintainedSite):
    await site.take_snapshot()
    await copy(site)
    good = await offsite.list_files(site.worker.second, site.id)
    await site.take_snapshot()
    objects = site.worker.gateway.store.objects()
    new = [key for key in await offsite.list_files(objects, site.id) if key not in good and "/data/" in key]
    content = bytearray(await objects.get(new[0], max_bytes=1 << 26))
    content[-1] ^= 1
    await objects.put(new[0], bytes(content))
    await copy(site)
    assert await site.list_events() == ["snapshot.damaged"]
    assert new[0] in str(await site.value("select problem from repositories where site_id = $1"))
    assert new[0] not in await offsite.list_files(site.worker.second, site.id)
    await second_repository(site).check("100%")


async def test_removed_snapshots_disappear_from_the_second_store_and_lost_ones_do_not(site: MaintainedSite):
    old, new = await site.take_snapshot(), await site.take_snapshot()
    await copy(site)
    await site.expire(old)
    assert await site.maintain(offsite=True)
    assert [each.id for each in await second_repository(site).list_snapshots()] == [new.restic_id]
    await second_repository(site).check("100%")
    before = await offsite.list_files(site.worker.second, site.id)
    # The first store loses everything, or an attacker empties it.
    objects = site.worker.gateway.store.objects()
    await objects.delete(list(await offsite.list_files(objects, site.id)))
    assert not await site.maintain(offsite=True)
    await copy(site)
    assert await offsite.list_files(site.worker.second, site.id) == before


async def test_a_copy_that_was_interrupted_is_finished_later(
    site: MaintainedSite, second_store: RunningStack
):
    await site.take_snapshot(size=24 * 1024 * 1024)
    copying = asyncio.create_task(copy(site))
    await asyncio.wait({copying}, timeout=0.3)
    copying.cancel()
    await asyncio.gather(copying, return_exceptions=True)
    await second_store.kill(SeaweedFS)
    try:
        await copy(site)
        assert await site.value("select synced_at from snapshots where site_id = $1") is None
        assert await site.list_events() == []
        # What was done in the first store is not done again.
        assert not await site.maintain(offsite=True)
        assert await site.value("select maintained_at is not null from repositories where site_id = $1")
        assert await site.value("select maintenance_due_at > now() from repositories where site_id = $1")
    finally:
        await second_store.start(SeaweedFS)
    await copy(site)
    assert await site.value("select synced_at from snapshots where site_id = $1") is not None
    await second_repository(site).check("100%")


async def test_everything_comes_back_from_the_second_store_alone(
    worker: Worker, person: Person, tmp_path: Path, record_property
):
    sites = [await worker.new_site(person, tmp_path / f"site {number}") for number in range(3)]
    for each in sites:
        await each.take_snapshot()
        await each.take_snapshot()
        await copy(each)
    not_copied = await sites[0].take_snapshot()
    first = worker.gateway.store.objects()
    for each in sites:
        names = [name async for batch in first.list_names(repository_prefix(each.id)) for name in batch]
        await first.delete(names)
    recovery = Recovery(worker.plane.database, worker.sealer, first, worker.second)
    await recovery.recover_releases()
    for each in sites:
        recovered = await recovery.recover_site(each.id)
        assert recovered.problem is None
        assert (recovered.snapshots, recovered.lost) == (2, int(each is sites[0]))
        started = time.monotonic()
        for number, taken in enumerate(each.taken[:2]):
            await each.require_restorable(taken, tmp_path / f"{each.id} {number}")
        restored = time.monotonic() - started
        record_property(
            FIGURE,
            f"{each.id}: {recovered.bytes} bytes from the second store in {recovered.seconds:.1f} s,"
            f" two snapshots restored with equal checksums in {restored:.1f} s",
        )
    # It can be repeated, and maintenance goes on.
    assert (await recovery.recover_site(sites[1].id)).files == 0
    assert await sites[0].maintain(offsite=True)
    assert not_copied.restic_id not in await sites[0].list_restic_ids()
