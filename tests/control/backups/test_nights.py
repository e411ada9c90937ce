"""Nightly snapshots: when they are queued, verified completely and reported, and their status."""

from datetime import timedelta

import pytest

from stead.control.app import ControlPlane
from stead.control.backups import scheduling, snapshot_steps
from stead.control.backups.operating import describe
from stead.control.backups.schedule import OVERDUE_AFTER
from stead.control.environments import service as environments
from stead.shared.clock import MovableClock
from tests.conftest import NewPerson
from tests.control.backups.scheduled_sites import schedule_sites
from tests.control.backups.snapshot_jobs import NODE, queue_job, read_status
from tests.control.exec.samples import insert_wordpress_site
from tests.control.site_driver import SiteDriver
from tests.people import Person
from tests.teams import environment_of, insert_site, insert_snapshot


async def test_the_status_names_the_latest_snapshot_of_each_site(person: Person) -> None:
    async with person.transaction() as tx:
        site = await insert_site(tx, account=person.id)
        env = await environment_of(tx, site)
        for days in (3, 1):
            await insert_snapshot(tx, site, env, taken_at=tx.now - timedelta(days=days))
        await insert_snapshot(tx, site, env, status="failed")
        bare = await insert_site(tx, account=person.id)
        await insert_site(tx, account=person.id, status="deleted")
    rows = {row["site_id"]: row for row in await read_status(person.session)}
    assert rows.keys() == {site, bare}
    assert rows[site]["snapshot_age_seconds"] == pytest.approx(86_400, abs=600)
    assert (rows[site]["size_bytes"], rows[bare]["last_backup_status"]) == (1000, "never")


async def test_the_night_queues_a_backup_and_the_second_day_without_one_is_reported(
    person: Person, plane: ControlPlane, clock: MovableClock, site: str
) -> None:
    await schedule_sites(person)
    async with person.transaction() as tx:
        due = await tx.value("select due_at from backup_schedules where site_id = $1", site)
        assert tx.now < due <= tx.now + timedelta(days=1)
        await tx.run(
            "update backup_schedules set due_at = 'infinity', since = 'infinity' where site_id <> $1", site
        )
    clock.ahead += timedelta(days=1)
    async with person.transaction() as tx:
        assert await scheduling.queue_due(tx) == 1
        assert await scheduling.queue_due(tx) == 0
        job = await tx.value("select id from jobs where site_id = $1 and type = 'backup.create'", site)
    driver = SiteDriver(plane)
    await driver.fail_job(job, "backup.store_unavailable")
    async with person.transaction() as tx:
        assert await scheduling.report_overdue(tx) == 0
    # The turn of the site may have been a moment ago.
    clock.ahead += OVERDUE_AFTER
    async with person.transaction() as tx:
        assert await scheduling.report_overdue(tx) == 1
        assert await scheduling.report_overdue(tx) == 0
        text, has_overdue = await describe(tx, has_second_store=False)
    assert has_overdue
    assert site in text
    types = await driver.event_types(site)
    assert [each for each in types if each.startswith("snapshot.")] == ["snapshot.failed", "snapshot.overdue"]
    async with person.transaction() as tx:
        await scheduling.record_success(tx, site, await environments.get_production(tx, site))
        assert site not in (await describe(tx, has_second_store=False))[0]


async def test_backups_that_customers_ask_for_do_not_keep_the_night_away_from_their_neighbours(
    person: Person, new_person: NewPerson, clock: MovableClock, site: str
) -> None:
    other = await new_person()
    for _ in range(3):
        greedy = await insert_wordpress_site(other)
        async with person.transaction() as tx:
            await tx.run("update environments set node_id = $2 where site_id = $1", greedy, NODE)
        await queue_job(other.session, f"/v1/sites/{greedy}/backup")
    await schedule_sites(person)
    async with person.transaction() as tx:
        await tx.run(
            "update backup_schedules set due_at = 'infinity', since = 'infinity' where site_id <> $1", site
        )
    clock.ahead += timedelta(days=1)
    async with person.transaction() as tx:
        assert await scheduling.queue_due(tx) == 1


async def test_a_scheduled_snapshot_is_verified_completely_once_a_week(
    person: Person, clock: MovableClock, site: str
) -> None:
    async with person.transaction() as tx:
        env = await environments.get_production(tx, site)
        assert await snapshot_steps._needs_full_check(tx, env, "scheduled")
        snapshot = await insert_snapshot(tx, site, env.id, kind="scheduled")
        engine = await snapshot_steps._get_engine(tx, env)
        await tx.run(
            "update snapshots set verified_at = $2, engine = $3 where id = $1", snapshot, tx.now, engine
        )
        assert not await snapshot_steps._needs_full_check(tx, env, "scheduled")
        assert await snapshot_steps._needs_full_check(tx, env, "on_demand")
        assert not await snapshot_steps._needs_full_check(tx, env, "before_restore")
        await tx.run("update snapshots set engine = 'another' where id = $1", snapshot)
        assert await snapshot_steps._needs_full_check(tx, env, "scheduled")
        await tx.run("update snapshots set engine = $2 where id = $1", snapshot, engine)
    clock.ahead += timedelta(days=7)
    async with person.transaction() as tx:
        assert await snapshot_steps._needs_full_check(tx, env, "scheduled")
