"""Snapshots of staging and branch environments: what they have is nowhere else."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import timedelta

import pytest

from stead.control.app import ControlPlane
from stead.control.backups import scheduling, snapshot_steps
from stead.control.environments import service as environments
from stead.control.environments import store as environment_store
from tests.control.backups.scheduled_sites import schedule_sites
from tests.control.exec.samples import insert_wordpress_site
from tests.control.site_driver import SiteDriver
from tests.enrolled_nodes import record_node
from tests.people import Person
from tests.teams import environment_of, insert_environment, insert_snapshot

NODE = "node-of-copies"


@dataclass(frozen=True)
class Copied:
    site: str
    production: str
    staging: str


@pytest.fixture
async def copied(person: Person) -> AsyncIterator[Copied]:
    """A WordPress site with a staging environment, on a node that nobody runs."""
    site = await insert_wordpress_site(person)
    async with person.transaction() as tx:
        await record_node(tx, NODE, "nowhere")
        await tx.run("update sites set php_version = '8.2' where id = $1", site)
        staging = await insert_environment(tx, site)
        await tx.run("update environments set node_id = $2 where site_id = $1", site, NODE)
        found = Copied(site, await environment_of(tx, site), staging)
    yield found
    async with person.transaction() as tx:
        await tx.run("update environments set node_id = null where site_id = $1", site)


async def test_the_night_copies_all_environments_and_the_status_is_that_of_production(
    person: Person, plane: ControlPlane, copied: Copied
) -> None:
    await schedule_sites(person)
    async with person.transaction() as tx:
        await tx.run(
            "update backup_schedules set due_at = case site_id when $1 then $2::timestamptz"
            " else 'infinity' end",
            *(copied.site, tx.now),
        )
        assert await scheduling.queue_due(tx) == 1
        queued = await tx.all(
            lambda id_, env: (id_, env),
            "select id, env_id from jobs where site_id = $1 and type = 'backup.create'",
            copied.site,
        )
    jobs = {env: id_ for id_, env in queued}
    assert jobs.keys() == {copied.production, copied.staging}
    driver = SiteDriver(plane)
    async with person.transaction() as tx:
        production = await environments.get_production(tx, copied.site)
        await insert_snapshot(tx, copied.site, copied.production, taken_at=tx.now - timedelta(hours=2))
        await insert_snapshot(tx, copied.site, copied.staging)
        await scheduling.record_success(tx, copied.site, production)
    await driver.fail_job(jobs[copied.staging], "backup.interrupted")
    assert "snapshot.failed" in await driver.event_types(copied.site)
    status = (await person.session.get("/v1/backups/status")).json()["data"]
    (row,) = [each for each in status["sites"] if each["site_id"] == copied.site]
    assert row["last_backup_status"] == "succeeded"
    assert row["snapshot_age_seconds"] == pytest.approx(7200, abs=600)
    listed = (await person.session.get(f"/v1/sites/{copied.site}/snapshots")).json()["data"]
    assert [each["env_id"] for each in listed] == [copied.staging, copied.production]


async def test_every_environment_is_started_on_trial_once_a_week(person: Person, copied: Copied) -> None:
    async with person.transaction() as tx:
        production = await environments.get_production(tx, copied.site)
        staging = await environments.get(tx, copied.staging)
        engine = await snapshot_steps._get_engine(tx, production)
        snapshot = await insert_snapshot(tx, copied.site, production.id, kind="scheduled")
        await tx.run(
            "update snapshots set verified_at = $2, engine = $3 where id = $1", snapshot, tx.now, engine
        )
        assert not await snapshot_steps._needs_full_check(tx, production, "scheduled")
        assert await snapshot_steps._needs_full_check(tx, staging, "scheduled")


async def test_restoring_staging_changes_nothing_of_the_site(
    person: Person, plane: ControlPlane, copied: Copied
) -> None:
    driver = SiteDriver(plane)
    path = f"/v1/sites/{copied.site}"
    async with person.transaction() as tx:
        snapshot = await insert_snapshot(tx, copied.site, copied.staging)
        document = {
            "configuration": {"performance": {"page_cache_ttl": 60}},
            "override": {"performance": {"hot_page_count": 7}},
            "redirects": [{"from": "/old", "to": "/new", "code": 301}],
        }
        await tx.run(
            "update snapshots set document = document || $2, runtime = 'cms' where id = $1",
            snapshot,
            document,
        )
        await tx.run("update environments set data_lost = true where id = $1", copied.staging)
    before = (await person.session.get(f"{path}/config")).json()["data"]
    response = await person.session.post(f"{path}/snapshots/{snapshot}/restore")
    assert response.status_code == 202, response.text
    await driver.run_job(response.json()["data"]["id"])
    assert (await person.session.get(f"{path}/config")).json()["data"] == before
    assert (await person.session.get(f"{path}/redirects")).json()["data"]["redirects"] == []
    own = (await person.session.get(f"{path}/environments/{copied.staging}/config")).json()["data"]
    assert own["override"]["performance"]["hot_page_count"] == 7
    async with person.transaction() as tx:
        assert not await environment_store.is_data_lost(tx, copied.staging)


async def test_a_destroyed_environment_has_no_snapshots_any_more(
    person: Person, plane: ControlPlane, copied: Copied
) -> None:
    async with person.transaction() as tx:
        kept = await insert_snapshot(tx, copied.site, copied.production)
        await insert_snapshot(tx, copied.site, copied.staging)
    path = f"/v1/sites/{copied.site}"
    response = await person.session.delete(f"{path}/environments/{copied.staging}")
    assert response.status_code == 202, response.text
    await SiteDriver(plane).run_job(response.json()["data"]["id"])
    listed = (await person.session.get(f"{path}/snapshots")).json()["data"]
    assert [each["id"] for each in listed] == [kept]
