"""Snapshots through the API: for which sites, what is listed, and what nodes are asked."""

from collections.abc import Callable
from datetime import timedelta

import msgspec
import pytest
from temporalio.exceptions import ApplicationError
from temporalio.testing import ActivityEnvironment

from stead.control.app import ControlPlane
from stead.control.artifacts import store as artifacts
from stead.control.backups.rules import SnapshotDocument
from stead.control.engines.temporal_activities import refusal_code
from stead.control.jobs.definition import Refused
from stead.control.nodes.gateway import Gateway
from stead.protocol.commands import Command, Result
from stead.protocol.work.snapshots import SnapshotVerified, TakeSnapshot, VerifySnapshot
from tests.client import code_of
from tests.control.backups.snapshot_jobs import (
    TAKEN,
    begin_job,
    build_command,
    list_snapshots,
    queue_job,
    read_status,
    report_result,
)
from tests.control.site_driver import read_site, request_deletion
from tests.people import Person
from tests.teams import environment_of, insert_artifact, insert_deployment, insert_site, insert_snapshot


async def test_a_snapshot_is_listed_only_when_it_was_verified(
    person: Person, plane: ControlPlane, site: str
) -> None:
    job = await queue_job(person.session, f"/v1/sites/{site}/backup")
    driver, read = await begin_job(plane, job)
    work = await build_command(driver, read, "copy")
    assert isinstance(work, TakeSnapshot)
    document = msgspec.json.decode(work.document, type=SnapshotDocument)
    assert (document.site_id, document.runtime, document.php_version) == (site, "cms", "8.2")
    await begin_job(plane, job)
    assert (await build_command(driver, read, "copy")).snapshot == work.snapshot, (
        "a repeated step takes another"
    )
    await report_result(driver, read, "copy", TAKEN)
    await report_result(driver, read, "copy", TAKEN)
    verified = await build_command(driver, read, "verify")
    assert isinstance(verified, VerifySnapshot)
    assert (verified.snapshot, verified.restic_id, verified.boot) == (work.snapshot, TAKEN.restic_id, True)
    assert await list_snapshots(person.session, site) == []
    await report_result(driver, read, "verify", SnapshotVerified(3, 7, booted=True))
    assert await list_snapshots(person.session, site) == []
    await driver.run_job(job)
    (shown,) = await list_snapshots(person.session, site)
    assert (shown["id"], shown["kind"], shown["tags"]) == (work.snapshot, "on_demand", "on-demand")
    assert (shown["size_bytes"], shown["retention_reason"], shown["synced_at"]) == (5000, None, None)
    assert shown["verified_at"] is not None
    result = await person.session.get(f"/v1/jobs/{job}")
    assert result.json()["data"]["result"] == {"snapshot_id": work.snapshot}
    assert "snapshot.completed" in await driver.event_types(site)


async def test_a_snapshot_that_fails_is_not_listed_and_the_failure_is_shown(
    person: Person, plane: ControlPlane, site: str
) -> None:
    job = await queue_job(person.session, f"/v1/sites/{site}/backup")
    driver, read = await begin_job(plane, job)
    await report_result(driver, read, "copy", TAKEN)
    undo = driver._workflow(await driver.job_row(job)).steps["snapshot"].undo_control
    assert undo is not None
    async with plane.database.transaction() as tx:
        await undo(tx, read)
    await driver.fail_job(job, "backup.unverified")
    assert await list_snapshots(person.session, site) == []
    assert "snapshot.failed" in await driver.event_types(site)
    (row,) = [each for each in await read_status(person.session) if each["site_id"] == site]
    assert (row["last_backup_status"], row["latest_snapshot_at"], row["snapshot_age_seconds"]) == (
        "failed",
        None,
        None,
    )


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


@pytest.mark.parametrize("step", ["copy", "verify"])
async def test_a_snapshot_that_the_node_does_not_describe_is_refused(
    person: Person, plane: ControlPlane, site: str, step: str
) -> None:
    """A malformed report is none."""
    job = await queue_job(person.session, f"/v1/sites/{site}/backup")
    driver, read = await begin_job(plane, job)
    if step == "verify":
        await report_result(driver, read, "copy", TAKEN)
    with pytest.raises(Refused, match="has not described") as refused:
        await report_result(driver, read, step, None)
    assert refused.value.code == "backup.interrupted"
    assert await list_snapshots(person.session, site) == []


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
    driver, read = await begin_job(plane, job)
    if step == "verify":
        await report_result(driver, read, "copy", TAKEN)
    activities = driver._activities()
    activities._gateway = RefusingNode("backup.store_unavailable")
    with pytest.raises(ApplicationError) as refused:
        await ActivityEnvironment().run(activities.perform, job, step)
    assert refusal_code(refused.value) == "backup.store_unavailable"
    activities._gateway = RefusingNode("backup.unsupported_content")
    for _ in range(2):
        await ActivityEnvironment().run(activities.perform, job, step)
    assert await driver.run_job(job) == "deleted"
    assert await list_snapshots(person.session, site) == []
    types = await driver.event_types(site)
    assert (types.count("snapshot.failed"), types.count("site.deleted")) == (1, 1)


async def test_content_that_no_snapshot_can_have_prevents_a_change(
    person: Person, plane: ControlPlane, site: str
) -> None:
    job = await queue_job(person.session, f"/v1/sites/{site}/backup")
    driver, _ = await begin_job(plane, job)
    activities = driver._activities()
    activities._gateway = RefusingNode("backup.unsupported_content")
    with pytest.raises(ApplicationError) as refused:
        await ActivityEnvironment().run(activities.perform, job, "copy")
    assert refusal_code(refused.value) == "backup.unsupported_content"
