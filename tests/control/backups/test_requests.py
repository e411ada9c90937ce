"""Snapshots through the API: for which sites, what is listed, what nodes are asked, and what is kept."""

import base64
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from stead.control.app import ControlPlane
from stead.control.artifacts import store as artifacts
from stead.control.backups import maintenance_store, repositories, scheduling, snapshot_steps, storage
from stead.control.backups import store as repository_store
from stead.control.backups.operating import describe
from stead.control.backups.rules import SnapshotDocument, SnapshotKind
from stead.control.backups.schedule import OVERDUE_AFTER
from stead.control.engines.postgres import Tx
from stead.control.engines.temporal_activities import refusal_code
from stead.control.environments import service as environments
from stead.control.jobs.definition import NodeCommand, Refused
from stead.control.jobs.kinds import Job
from stead.control.jobs.repository_access import repository_password_context
from stead.control.nodes.gateway import Gateway
from stead.control.plans.rules import GB, Owner, StorageExhausted
from stead.control.sealing import Sealer
from stead.protocol.commands import Command, Result
from stead.protocol.work.hosting import DiscardDataset, EnsureEnvironment, RemoveEnvironment
from stead.protocol.work.snapshots import (
    RestoreSnapshot,
    SnapshotTaken,
    SnapshotVerified,
    TakeSnapshot,
    VerifySnapshot,
)
from stead.shared.clock import MovableClock
from tests.client import Client, code_of
from tests.conftest import NewPerson
from tests.control.backups.scheduled_sites import schedule_sites
from tests.control.exec.samples import insert_wordpress_site
from tests.control.site_driver import SiteDriver, read_site, request_deletion, worker_context
from tests.enrolled_nodes import record_node
from tests.people import Person
from tests.teams import (
    environment_of,
    found_team,
    insert_artifact,
    insert_deployment,
    insert_site,
    insert_snapshot,
)

NODE = "node-backups"


async def _queue(client: Client, path: str) -> str:
    response = await client.post(path)
    assert response.status_code == 202, response.text
    return str(response.json()["data"]["id"])


@pytest.fixture
async def site(person: Person) -> AsyncIterator[str]:
    """A WordPress site in test mode's opposite: live, on a node that nobody runs."""
    id_ = await insert_wordpress_site(person)
    async with person.transaction() as tx:
        await record_node(tx, NODE, "nowhere")
        await tx.run("update sites set php_version = '8.2' where id = $1", id_)
        await tx.run("update environments set node_id = $2 where site_id = $1", id_, NODE)
    yield id_
    async with person.transaction() as tx:
        await tx.run("update environments set node_id = null where site_id = $1", id_)


async def _begin(plane: ControlPlane, job: str) -> tuple[SiteDriver, Job[Any]]:
    """Perform the long step of a job, without a repository."""
    driver = SiteDriver(plane)
    row = await driver.job_row(job)
    read = driver._workflow(row).read(row)
    async with plane.database.transaction() as tx:
        await tx.run("update sites set mode = 'test' where id = $1", row.site_id)
    begin = driver._workflow(row).steps["snapshot"].long_action
    assert begin is not None
    await begin(worker_context(plane), read)
    async with plane.database.transaction() as tx:
        await tx.run("update sites set mode = 'live' where id = $1", row.site_id)
    return driver, read


async def _command(driver: SiteDriver, job: Job[Any], step: str, *, undo: bool = False) -> Any:
    declared = driver._workflow(await driver.job_row(job.id)).steps[step]
    build = declared.undo_command if undo else declared.command
    assert build is not None
    async with driver.plane.database.transaction() as tx:
        command = await build(tx, job)
    assert isinstance(command, NodeCommand)
    assert (command.node, command.driver) == (NODE, "live")
    return command.work


async def _report(driver: SiteDriver, job: Job[Any], step: str, result: object) -> None:
    on_result = driver._workflow(await driver.job_row(job.id)).steps[step].on_result
    assert on_result is not None
    async with driver.plane.database.transaction() as tx:
        await on_result(tx, job, result)


_ALWAYS_TAKEN: tuple[SnapshotKind, ...] = ("scheduled", "site_deleted")
TAKEN = SnapshotTaken("ab" * 32, "sha256:m", 5000, 800, files=3, rows=7)


async def _list(client: Client, site: str) -> list[dict[str, Any]]:
    response = await client.get(f"/v1/sites/{site}/snapshots")
    assert response.status_code == 200, response.text
    return list(response.json()["data"])


async def test_a_snapshot_is_listed_only_when_it_was_verified(
    person: Person, plane: ControlPlane, site: str
) -> None:
    job = await _queue(person.session, f"/v1/sites/{site}/backup")
    driver, read = await _begin(plane, job)
    work = await _command(driver, read, "copy")
    assert isinstance(work, TakeSnapshot)
    document = msgspec.json.decode(work.document, type=SnapshotDocument)
    assert (document.site_id, document.runtime, document.php_version) == (site, "cms", "8.2")
    await _begin(plane, job)
    assert (await _command(driver, read, "copy")).snapshot == work.snapshot, "a repeated step takes another"
    await _report(driver, read, "copy", TAKEN)
    await _report(driver, read, "copy", TAKEN)
    verified = await _command(driver, read, "verify")
    assert isinstance(verified, VerifySnapshot)
    assert (verified.snapshot, verified.restic_id, verified.boot) == (work.snapshot, TAKEN.restic_id, True)
    assert await _list(person.session, site) == []
    await _report(driver, read, "verify", SnapshotVerified(3, 7, booted=True))
    assert await _list(person.session, site) == []
    await driver.run_job(job)
    (shown,) = await _list(person.session, site)
    assert (shown["id"], shown["kind"], shown["tags"]) == (work.snapshot, "on_demand", "on-demand")
    assert (shown["size_bytes"], shown["retention_reason"], shown["synced_at"]) == (5000, None, None)
    assert shown["verified_at"] is not None
    result = await person.session.get(f"/v1/jobs/{job}")
    assert result.json()["data"]["result"] == {"snapshot_id": work.snapshot}
    assert "snapshot.completed" in await driver.event_types(site)


async def test_a_snapshot_that_fails_is_not_listed_and_the_failure_is_shown(
    person: Person, plane: ControlPlane, site: str
) -> None:
    job = await _queue(person.session, f"/v1/sites/{site}/backup")
    driver, read = await _begin(plane, job)
    await _report(driver, read, "copy", TAKEN)
    undo = driver._workflow(await driver.job_row(job)).steps["snapshot"].undo_control
    assert undo is not None
    async with plane.database.transaction() as tx:
        await undo(tx, read)
    await driver.fail_job(job, "backup.unverified")
    assert await _list(person.session, site) == []
    assert "snapshot.failed" in await driver.event_types(site)
    (row,) = [each for each in await _status(person.session) if each["site_id"] == site]
    assert (row["last_backup_status"], row["latest_snapshot_at"], row["snapshot_age_seconds"]) == (
        "failed",
        None,
        None,
    )


async def _status(client: Client) -> list[dict[str, Any]]:
    response = await client.get("/v1/backups/status")
    assert response.status_code == 200, response.text
    assert response.json()["data"]["truncated"] is False
    return list(response.json()["data"]["sites"])


async def test_the_status_names_the_latest_snapshot_of_each_site(person: Person) -> None:
    async with person.transaction() as tx:
        site = await insert_site(tx, account=person.id)
        env = await environment_of(tx, site)
        for days in (3, 1):
            await insert_snapshot(tx, site, env, taken_at=tx.now - timedelta(days=days))
        await insert_snapshot(tx, site, env, status="failed")
        bare = await insert_site(tx, account=person.id)
        await insert_site(tx, account=person.id, status="deleted")
    rows = {row["site_id"]: row for row in await _status(person.session)}
    assert rows.keys() == {site, bare}
    assert rows[site]["snapshot_age_seconds"] == pytest.approx(86_400, abs=600)
    assert (rows[site]["size_bytes"], rows[bare]["last_backup_status"]) == (1000, "never")


@pytest.mark.parametrize("status", ["provisioning", "deleting", "deleted"])
async def test_a_site_that_is_made_or_deleted_is_not_backed_up(
    person: Person, site: str, status: str
) -> None:
    async with person.transaction() as tx:
        await tx.run("update sites set status = $2 where id = $1", site, status)
        snapshot = await insert_snapshot(tx, site, await environment_of(tx, site))
    assert code_of(await person.session.post(f"/v1/sites/{site}/backup")) == "site.busy"
    path = f"/v1/sites/{site}/snapshots/{snapshot}/restore"
    assert code_of(await person.session.post(path)) == "site.busy"


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
    assert await _list(person.session, site) == []


async def test_a_restore_copies_the_current_state_first_and_replaces_it_in_one_step(
    person: Person, plane: ControlPlane, site: str
) -> None:
    async with person.transaction() as tx:
        snapshot = await insert_snapshot(tx, site, await environment_of(tx, site))
        await tx.run("update snapshots set runtime = 'cms' where id = $1", snapshot)
    job = await _queue(person.session, f"/v1/sites/{site}/snapshots/{snapshot}/restore")
    driver, read = await _begin(plane, job)
    taken = await _command(driver, read, "copy")
    assert taken.snapshot != snapshot
    await _report(driver, read, "copy", TAKEN)
    # The site may be broken: that is why it is restored.
    assert (await _command(driver, read, "verify")).boot is False
    await _report(driver, read, "verify", SnapshotVerified(3, 7, booted=False))
    shown = {each["id"]: each["kind"] for each in await _list(person.session, site)}
    assert shown[taken.snapshot] == "before_restore"
    restored = await _command(driver, read, "data")
    assert isinstance(restored, RestoreSnapshot)
    assert (restored.snapshot, restored.dataset) == (snapshot, job[-14:])
    assert restored.hosts == ("example.com",), "the host of the snapshot is replaced"
    served = await _command(driver, read, "switch")
    assert isinstance(served, EnsureEnvironment)
    assert served.dataset == restored.dataset
    assert await _command(driver, read, "switch", undo=True) == DiscardDataset("cms", restored.dataset)
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
    job = await _queue(person.session, f"/v1/sites/{site}/snapshots/{snapshot}/restore")
    await driver.run_job(job)
    config = (await person.session.get(f"/v1/sites/{site}/config")).json()["data"]
    assert (config["performance"]["page_cache_ttl"], config["performance"]["hot_page_count"]) == (60, 0)
    assert config["security"]["allowed_ips"] == ["192.0.2.0/24"]
    redirects = (await person.session.get(f"/v1/sites/{site}/redirects")).json()["data"]["redirects"]
    assert redirects == document["redirects"]
    again = await _queue(person.session, f"/v1/sites/{site}/backup")
    await _begin(plane, again)
    stored = await driver.fetch_value("select document::text from snapshots where job_id = $1", again)
    assert "waf_partner_secret_key" in stored
    assert "hidden-partner-key" not in stored
    async with person.transaction() as tx:
        await tx.run("update environments set node_id = null where site_id = $1", site)


async def test_the_release_of_a_snapshot_is_not_removed(person: Person) -> None:
    async with person.transaction() as tx:
        site = await insert_site(tx, account=person.id)
        env = await environment_of(tx, site)
        long_ago = tx.now - timedelta(days=400)
        old, unused = [await insert_artifact(tx, site, built_at=long_ago) for _ in range(2)]
        for _ in range(20):
            await insert_deployment(tx, site, env, await insert_artifact(tx, site), status="superseded")
        snapshot = await insert_snapshot(tx, site, env)
        await tx.run("update snapshots set artifact_id = $2 where id = $1", snapshot, old)
        assert await artifacts.select_unused(tx, [old, unused]) == [unused]


async def test_the_password_is_sealed_and_a_node_gets_what_it_needs_for_one_site(
    person: Person, plane: ControlPlane, site: str
) -> None:
    sealer = Sealer.from_text(plane.settings.sealing_key)
    sealed = sealer.seal(b"a password", context=repository_password_context(site))
    async with person.transaction() as tx:
        assert (await repositories.build_access(tx, site, "read")).password == ""
        await tx.run(
            "insert into repositories (site_id, password, created_at) values ($1, $2, $3)",
            site,
            sealed,
            tx.now,
        )
        access = await repositories.build_access(tx, site, "append")
    assert base64.b64decode(access.password) == sealed
    kind, added, as_of = access.url.split(" ")
    assert (kind, int(added) > 0, as_of) == ("append", True, "0")


async def test_files_that_came_after_a_snapshot_are_hidden_from_its_restore(
    person: Person, plane: ControlPlane, site: str
) -> None:
    async def read_moment(tx: Tx) -> int:
        access = await repositories.build_access(tx, site, "read", stored_at=stored)
        return int(access.url.split(" ")[2])

    async with person.transaction() as tx:
        stored = tx.now - timedelta(days=1)
        sealed = Sealer.from_text(plane.settings.sealing_key).seal(
            b"a password", context=repository_password_context(site)
        )
        await repository_store.insert_repository(tx, site, sealed)
        assert 0 < await read_moment(tx) - stored.timestamp() < 120
        # While files are being replaced, nobody knows which ones a snapshot needs.
        await maintenance_store.begin_rewriting(tx, site)
        assert await read_moment(tx) == 0
        await maintenance_store.end_rewriting(tx, site)
        assert 0 < await read_moment(tx) - tx.now.timestamp() < 120


@pytest.mark.parametrize("step", ["copy", "verify"])
async def test_a_snapshot_that_the_node_does_not_describe_is_refused(
    person: Person, plane: ControlPlane, site: str, step: str
) -> None:
    """A malformed report is none."""
    job = await _queue(person.session, f"/v1/sites/{site}/backup")
    driver, read = await _begin(plane, job)
    if step == "verify":
        await _report(driver, read, "copy", TAKEN)
    with pytest.raises(Refused, match="has not described") as refused:
        await _report(driver, read, step, None)
    assert refused.value.code == "backup.interrupted"
    assert await _list(person.session, site) == []


async def _fill_plan(tx: Tx, site: str, plans: int) -> None:
    """The snapshots of the site take the storage of so many free plans."""
    limit = await tx.value("select max_storage_gb from plans where name = 'free'")
    await tx.run(
        "insert into repositories (site_id, password, created_at, stored_bytes) values ($1, '', $2, $3)"
        " on conflict (site_id) do update set stored_bytes = $3",
        *(site, tx.now, plans * limit * GB),
    )


async def test_snapshots_count_toward_the_storage_of_the_plan(new_person: NewPerson) -> None:
    person, neighbour = await new_person(plan="free"), await new_person(plan="free")
    team = await found_team(person)
    async with person.transaction() as tx:
        site, other = await insert_site(tx, team=team), await insert_site(tx, account=neighbour.id)
        await _fill_plan(tx, site, 1)
    usage = (await person.session.get(f"/v1/teams/{team}/plan")).json()["data"]["usage"]
    assert usage["storage_gb"] == 1
    for path, body in (("backup", {}), ("uploads", {"size_bytes": 1})):
        refused = await person.session.post(f"/v1/sites/{site}/{path}", json=body)
        assert (refused.status_code, code_of(refused)) == (429, "quota.storage")
    accepted = await neighbour.session.post(f"/v1/sites/{other}/backup")
    assert accepted.status_code == 202, accepted.text


async def test_a_full_plan_prevents_no_snapshot_that_protects_a_site(new_person: NewPerson) -> None:
    """Those before changes are bounded nevertheless: each could add as much as the site has."""
    person = await new_person(plan="free")
    owner = Owner(account_id=person.account.id)
    changes: tuple[SnapshotKind, ...] = (
        *("before_push", "before_restore", "before_switch", "before_update"),
        "before_quarantine",
    )
    async with person.transaction() as tx:
        site = await insert_site(tx, account=person.id)
        await _fill_plan(tx, site, 1)
        for kind in (*changes, *_ALWAYS_TAKEN):
            await storage.require_room(tx, owner, kind)
        await _fill_plan(tx, site, 2)
        for kind in _ALWAYS_TAKEN:
            await storage.require_room(tx, owner, kind)
        for kind in changes:
            with pytest.raises(StorageExhausted):
                await storage.require_room(tx, owner, kind)


async def test_a_node_cannot_claim_to_have_added_more_than_it_may(
    person: Person, plane: ControlPlane, site: str
) -> None:
    job = await _queue(person.session, f"/v1/sites/{site}/backup")
    driver, read = await _begin(plane, job)
    async with person.transaction() as tx:
        await _fill_plan(tx, site, 0)
        allowed = await repositories.get_allowance(tx, site)
    await _report(driver, read, "copy", msgspec.structs.replace(TAKEN, added_bytes=10**15))
    async with person.transaction() as tx:
        stored = await tx.value("select stored_bytes from repositories where site_id = $1", site)
    assert stored == allowed


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
        await _queue(other.session, f"/v1/sites/{greedy}/backup")
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
    job = await _queue(person.session, f"/v1/sites/{site}/snapshots/{snapshot}/restore")
    async with person.transaction() as tx:
        # A command that is repeated restores nothing twice.
        assert await maintenance_store.list_newest_of_wordpress(tx, None) == []
    driver, read = await _begin(plane, job)
    assert await driver.fetch_value("select count(*) from snapshots where job_id = $1", job) == 0
    assert (await _command(driver, read, "data")).snapshot == snapshot
    assert await _command(driver, read, "data", undo=True) == RemoveEnvironment()
    assert await driver.run_job(job) == "running"
    assert not await driver.fetch_value("select data_lost from environments where id = $1", env)


class RefusingNode(Gateway):
    """Answers for a node that refuses everything with this code."""

    def __init__(self, code: str) -> None:
        self.code = code

    async def run_command(self, command: Command, is_stopping: Callable[[], bool]) -> Result:  # noqa: ARG002
        reason = "the files are in too many levels"
        return Result(command.node, command.job, command.step, command.epoch, "refused", self.code, reason)


@pytest.mark.parametrize("step", ["copy", "verify"])
async def test_content_that_no_snapshot_can_have_does_not_prevent_a_deletion(
    person: Person, plane: ControlPlane, site: str, step: str
) -> None:
    domain = (await read_site(person.session, site))["domain"]
    job = (await request_deletion(person.session, site, domain)).json()["data"]["id"]
    driver, read = await _begin(plane, job)
    if step == "verify":
        await _report(driver, read, "copy", TAKEN)
    activities = driver._activities()
    activities._gateway = RefusingNode("backup.store_unavailable")
    with pytest.raises(ApplicationError) as refused:
        await ActivityEnvironment().run(activities.perform, job, step)
    assert refusal_code(refused.value) == "backup.store_unavailable"
    activities._gateway = RefusingNode("backup.unsupported_content")
    for _ in range(2):
        await ActivityEnvironment().run(activities.perform, job, step)
    assert await driver.run_job(job) == "deleted"
    assert await _list(person.session, site) == []
    types = await driver.event_types(site)
    assert (types.count("snapshot.failed"), types.count("site.deleted")) == (1, 1)


async def test_content_that_no_snapshot_can_have_prevents_a_change(
    person: Person, plane: ControlPlane, site: str
) -> None:
    job = await _queue(person.session, f"/v1/sites/{site}/backup")
    driver, _ = await _begin(plane, job)
    activities = driver._activities()
    activities._gateway = RefusingNode("backup.unsupported_content")
    with pytest.raises(ApplicationError) as refused:
        await ActivityEnvironment().run(activities.perform, job, "copy")
    assert refusal_code(refused.value) == "backup.unsupported_content"
