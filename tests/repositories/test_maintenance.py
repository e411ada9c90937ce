"""Removing old snapshots, checking the others, and not being fooled by a node."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from stead.control.backups import maintenance_store
from stead.control.backups.repository_leases import RepositoryInUse, RepositoryWanted, run_alone
from stead.control.engines.restic import PasswordWrong, ResticRepository
from stead.shared.ids import new_id
from stead.shared.repository_layout import closed_key, kind_prefix, repository_prefix
from tests.patience import time_limit
from tests.repositories.maintained_site import MaintainedSite, Worker


async def test_only_what_the_table_does_not_want_is_removed(site: MaintainedSite, tmp_path: Path):
    old, failed = await site.take_snapshot(), await site.take_snapshot(kept=False)
    new = await site.take_snapshot()
    await site.expire(old)
    stored = "select stored_bytes from repositories where site_id = $1"
    assert await site.value(stored) == 0
    assert await site.maintain()
    assert await site.list_restic_ids() == {new.restic_id}
    assert await site.value("select array_agg(id) from snapshots where site_id = $1") == [new.id]
    assert await site.value("select checked_at is not null from repositories where site_id = $1")
    assert await site.value("select stored_bytes > 0 from repositories where site_id = $1")
    await site.require_restorable(new, tmp_path / "restored")
    assert failed.restic_id not in await site.list_restic_ids()
    # Nothing is due now.
    assert await site.maintain()


@pytest.mark.parametrize(
    "cause", ["future", "past", "unknown host", "unknown snapshot", "shrunk", "second snapshot"]
)
async def test_nothing_is_removed_while_something_looks_suspicious(
    site: MaintainedSite, cause: str, tmp_path: Path
):
    old = await site.take_snapshot(recorded_size=500_000_000)
    await site.expire(old)
    kept = await site.take_snapshot(recorded_size=500_000_000)
    ahead = (datetime.now(UTC) + timedelta(days=30)).strftime("%Y-%m-%d %H:%M:%S")
    match cause:
        case "future":
            await site.take_snapshot("--time", ahead, recorded_size=500_000_000)
        case "past":
            await site.take_snapshot("--time", "2001-01-01 00:00:00", recorded_size=500_000_000)
        case "unknown host":
            await site.take_snapshot(host="elsewhere", recorded_size=500_000_000)
        case "unknown snapshot":
            await site.site.back_up(site.folder, "--host", site.env, "--tag", new_id("snap"))
        case "shrunk":
            await site.take_snapshot(recorded_size=1_000_000)
        case "second snapshot":
            await site.site.back_up(site.folder, "--host", site.env, "--tag", kept.id)
    before = await site.list_restic_ids()
    assert not await site.maintain()
    assert not await site.maintain()
    assert await site.list_restic_ids() == before
    # One event, although it was found twice.
    assert await site.list_events() == ["snapshot.suspicious"]
    await site.require_restorable(kept, tmp_path / "restored")
    # An operator has looked at it.
    async with site.worker.plane.database.transaction() as tx:
        assert await maintenance_store.accept_problem(tx, site.id)
    assert await site.maintain()
    assert old.restic_id not in await site.list_restic_ids()
    await site.require_restorable(kept, tmp_path / "again")


async def test_a_flipped_byte_is_found_and_named_before_anything_is_removed(site: MaintainedSite):
    old = await site.take_snapshot()
    await site.take_snapshot()
    await site.expire(old)
    objects = site.worker.gateway.store.objects()
    async for names in objects.list_names(kind_prefix(site.id, "data")):
        content = bytearray(await objects.get(names[0], max_bytes=1 << 26))
        content[len(content) // 2] ^= 1
        await objects.put(names[0], bytes(content))
    before = await site.list_restic_ids()
    assert not await site.maintain()
    assert await site.list_restic_ids() == before
    assert await site.list_events() == ["snapshot.damaged"]
    assert "check" in str(await site.value("select problem from repositories where site_id = $1"))


async def test_a_snapshot_that_disappeared_is_reported(site: MaintainedSite):
    lost, other = await site.take_snapshot(), await site.take_snapshot()
    objects = site.worker.gateway.store.objects()
    await objects.delete([f"{kind_prefix(site.id, 'snapshots')}{lost.restic_id}"])
    assert not await site.maintain()
    assert await site.list_events() == ["snapshot.damaged"]
    assert lost.id in str(await site.value("select problem from repositories where site_id = $1"))
    assert other.restic_id in await site.list_restic_ids()


async def test_a_removal_that_was_killed_is_finished_later(site: MaintainedSite, tmp_path: Path):
    old = [await site.take_snapshot() for _ in range(3)]
    kept = await site.take_snapshot()
    for each in old:
        await site.expire(each)
    for words in (["forget", old[0].restic_id], ["prune", "--max-unused", "0"]):
        # Killed like restic when its worker is killed: the lock and half of the work remain.
        running = asyncio.create_task(site.repository.run(*words))
        await asyncio.wait({running}, timeout=0.7)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await site.require_restorable(kept, tmp_path / words[0])
    assert await site.maintain()
    assert await site.list_restic_ids() == {kept.restic_id}
    await site.repository.check("100%")


async def test_maintenance_begins_when_no_job_runs_and_stops_for_one(worker: Worker, site: MaintainedSite):
    database = worker.plane.database
    begun, ended = asyncio.Event(), asyncio.Event()

    async def work() -> None:
        begun.set()
        await ended.wait()

    holding = asyncio.create_task(run_alone(database, site.id, work, renew_seconds=0.2))
    async with time_limit(30):
        await begun.wait()
    with pytest.raises(RepositoryInUse):
        await run_alone(database, site.id, work)
    # A job asks for the repository, and gets it.
    async with time_limit(30):
        await worker.ensure_repository(site.id)
    with pytest.raises(RepositoryWanted):
        await holding
    await site.sql("update jobs set status = 'running' where site_id = $1", site.id)
    with pytest.raises(RepositoryInUse):
        await run_alone(database, site.id, work)
    async with database.reading() as tx:
        assert site.id not in await maintenance_store.list_due(tx, limit=1000)


async def test_a_repository_that_a_killed_worker_has_closed_is_opened_by_the_next_job(
    worker: Worker, site: MaintainedSite
):
    objects = worker.gateway.store.objects()
    async with worker.plane.database.transaction() as tx:
        await maintenance_store.set_closed(tx, site.id, is_closed=True)
    await objects.put(closed_key(site.id), b"")
    site.folder.mkdir()
    completed = await site.site.restic("backup", str(site.folder), seconds=3)
    assert completed.code != 0
    await worker.ensure_repository(site.id)
    await site.take_snapshot()


async def test_two_workers_create_one_repository(worker: Worker, site: MaintainedSite):
    await site.sql(
        "update repositories set initialized_at = null, initializing_until = null where site_id = $1", site.id
    )
    objects = worker.gateway.store.objects()
    async for names in objects.list_names(f"backups/{site.id}/"):
        await objects.delete(names)
    await asyncio.gather(*(worker.ensure_repository(site.id) for _ in range(4)))
    keys = [name async for names in objects.list_names(kind_prefix(site.id, "keys")) for name in names]
    assert len(keys) == 1
    assert await site.repository.list_snapshots() == []


async def test_a_password_of_another_site_opens_nothing(worker: Worker, site: MaintainedSite):
    with pytest.raises(PasswordWrong):
        await ResticRepository(worker.gateway.store, site.id, "wrong").list_snapshots()


async def test_the_repository_of_a_site_that_cannot_be_recovered_is_removed_from_both_stores(
    worker: Worker, site: MaintainedSite
):
    await site.take_snapshot()
    assert await site.maintain(offsite=True)
    await site.sql(
        "update sites set status = 'deleted', recoverable_until = now() - interval '1 s' where id = $1",
        site.id,
    )
    # It has a snapshot that is kept.
    assert await site.maintain(offsite=True)
    assert await site.list_restic_ids()
    await site.sql("update snapshots set expires_at = now() where site_id = $1", site.id)
    assert await site.maintain(offsite=True)
    for objects in (worker.gateway.store.objects(), worker.second):
        assert [
            name async for batch in objects.list_names(repository_prefix(site.id)) for name in batch
        ] == []
    assert await site.value("select count(*) from repositories where site_id = $1") == 0
