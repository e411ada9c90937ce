"""Restores: which snapshots can be restored, what is replaced, and what a restore never changes."""

from stead.control.app import ControlPlane
from stead.control.backups import maintenance_store
from stead.protocol.work.hosting import DiscardDataset, EnsureEnvironment, RemoveEnvironment
from stead.protocol.work.snapshots import RestoreSnapshot, SnapshotVerified
from tests.client import code_of
from tests.control.backups.snapshot_jobs import (
    NODE,
    TAKEN,
    begin_job,
    build_command,
    list_snapshots,
    queue_job,
    report_result,
)
from tests.control.site_driver import SiteDriver
from tests.enrolled_nodes import record_node
from tests.people import Person
from tests.teams import environment_of, insert_site, insert_snapshot


async def test_a_failed_or_expired_snapshot_and_one_of_another_site_cannot_be_restored(
    person: Person, site: str
) -> None:
    async with person.transaction() as tx:
        env = await environment_of(tx, site)
        failed = await insert_snapshot(tx, site, env, status="failed")
        expired = await insert_snapshot(tx, site, env)
        await tx.run("update snapshots set expires_at = $2 where id = $1", expired, tx.now)
        other = await insert_site(tx, account=person.id)
        foreign = await insert_snapshot(tx, other, await environment_of(tx, other))
    for snapshot in (failed, expired, foreign, "snap_x"):
        refused = await person.session.post(f"/v1/sites/{site}/snapshots/{snapshot}/restore")
        assert (refused.status_code, code_of(refused)) == (404, "snapshot.not_found"), snapshot
    assert await list_snapshots(person.session, site) == []


async def test_a_restore_copies_the_current_state_first_and_replaces_it_in_one_step(
    person: Person, plane: ControlPlane, site: str
) -> None:
    async with person.transaction() as tx:
        snapshot = await insert_snapshot(tx, site, await environment_of(tx, site))
        await tx.run("update snapshots set runtime = 'cms' where id = $1", snapshot)
    job = await queue_job(person.session, f"/v1/sites/{site}/snapshots/{snapshot}/restore")
    driver, read = await begin_job(plane, job)
    taken = await build_command(driver, read, "copy")
    assert taken.snapshot != snapshot
    await report_result(driver, read, "copy", TAKEN)
    # The site may be broken: that is why it is restored.
    assert (await build_command(driver, read, "verify")).boot is False
    await report_result(driver, read, "verify", SnapshotVerified(3, 7, booted=False))
    shown = {each["id"]: each["kind"] for each in await list_snapshots(person.session, site)}
    assert shown[taken.snapshot] == "before_restore"
    restored = await build_command(driver, read, "data")
    assert isinstance(restored, RestoreSnapshot)
    assert (restored.snapshot, restored.dataset) == (snapshot, job[-14:])
    assert restored.hosts == ("example.com",), "the host of the snapshot is replaced"
    served = await build_command(driver, read, "switch")
    assert isinstance(served, EnsureEnvironment)
    assert served.dataset == restored.dataset
    assert await build_command(driver, read, "switch", undo=True) == DiscardDataset("cms", restored.dataset)
    await driver.run_job(job)
    assert "snapshot.restored" in await driver.event_types(site)
    dataset = await driver.fetch_value("select dataset from environments where site_id = $1", site)
    assert dataset == restored.dataset


async def test_a_restore_brings_back_settings_and_redirects_but_never_weakens_the_protection(
    person: Person, plane: ControlPlane
) -> None:
    driver = SiteDriver(plane)
    async with person.transaction() as tx:
        await record_node(tx, NODE, "nowhere")
        site = await insert_site(tx, account=person.id)
        env = await environment_of(tx, site)
        await tx.run("update environments set node_id = $2 where id = $1", env, NODE)
        snapshot = await insert_snapshot(tx, site, env)
        document = {
            "configuration": {"performance": {"page_cache_ttl": 60}, "security": {"allowed_ips": []}},
            "redirects": [{"from": "/old", "to": "/new", "code": 301}],
        }
        await tx.run("update snapshots set document = document || $2 where id = $1", snapshot, document)
    change = {
        "performance": {"page_cache_ttl": 900, "hot_page_count": 5},
        "security": {"allowed_ips": ["192.0.2.0/24"], "waf_partner_secret_key": "hidden-partner-key"},
    }
    configured = await person.session.patch(f"/v1/sites/{site}/config", json=change)
    await driver.run_job(configured.json()["data"]["id"])
    job = await queue_job(person.session, f"/v1/sites/{site}/snapshots/{snapshot}/restore")
    await driver.run_job(job)
    config = (await person.session.get(f"/v1/sites/{site}/config")).json()["data"]
    assert (config["performance"]["page_cache_ttl"], config["performance"]["hot_page_count"]) == (60, 0)
    assert config["security"]["allowed_ips"] == ["192.0.2.0/24"]
    redirects = (await person.session.get(f"/v1/sites/{site}/redirects")).json()["data"]["redirects"]
    assert redirects == document["redirects"]
    again = await queue_job(person.session, f"/v1/sites/{site}/backup")
    await begin_job(plane, again)
    stored = await driver.fetch_value("select document::text from snapshots where job_id = $1", again)
    assert "waf_partner_secret_key" in stored
    assert "hidden-partner-key" not in stored
    async with person.transaction() as tx:
        await tx.run("update environments set node_id = null where site_id = $1", site)


async def test_a_restore_on_a_new_node_copies_nothing_first_and_its_undo_leaves_nothing(
    person: Person, plane: ControlPlane, site: str
) -> None:
    async with person.transaction() as tx:
        env = await environment_of(tx, site)
        snapshot = await insert_snapshot(tx, site, env)
        await tx.run("update snapshots set runtime = 'cms' where id = $1", snapshot)
        await tx.run("update environments set data_lost = true where id = $1", env)
        await tx.run("update sites set status = 'failed' where id = $1", site)
        assert [each.env_id for each in await maintenance_store.list_newest_of_wordpress(tx, None)] == [env]
    job = await queue_job(person.session, f"/v1/sites/{site}/snapshots/{snapshot}/restore")
    async with person.transaction() as tx:
        # A command that is repeated restores nothing twice.
        assert await maintenance_store.list_newest_of_wordpress(tx, None) == []
    driver, read = await begin_job(plane, job)
    assert await driver.fetch_value("select count(*) from snapshots where job_id = $1", job) == 0
    assert (await build_command(driver, read, "data")).snapshot == snapshot
    assert await build_command(driver, read, "data", undo=True) == RemoveEnvironment()
    assert await driver.run_job(job) == "running"
    assert not await driver.fetch_value("select data_lost from environments where id = $1", env)
