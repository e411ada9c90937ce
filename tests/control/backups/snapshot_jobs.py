"""Performs the steps of jobs that take snapshots, without a repository or a node."""

from typing import Any

from stead.control.app import ControlPlane
from stead.control.jobs.definition import NodeCommand
from stead.control.jobs.kinds import Job
from stead.protocol.work.snapshots import SnapshotTaken
from tests.client import Client
from tests.control.site_driver import SiteDriver, worker_context

NODE = "node-backups"
TAKEN = SnapshotTaken("ab" * 32, "sha256:m", 5000, 800, files=3, rows=7)


async def queue_job(client: Client, path: str) -> str:
    response = await client.post(path)
    assert response.status_code == 202, response.text
    return str(response.json()["data"]["id"])


async def begin_job(plane: ControlPlane, job: str) -> tuple[SiteDriver, Job[Any]]:
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


async def build_command(driver: SiteDriver, job: Job[Any], step: str, *, undo: bool = False) -> Any:
    declared = driver._workflow(await driver.job_row(job.id)).steps[step]
    build = declared.undo_command if undo else declared.command
    assert build is not None
    async with driver.plane.database.transaction() as tx:
        command = await build(tx, job)
    assert isinstance(command, NodeCommand)
    assert (command.node, command.driver) == (NODE, "live")
    return command.work


async def report_result(driver: SiteDriver, job: Job[Any], step: str, result: object) -> None:
    on_result = driver._workflow(await driver.job_row(job.id)).steps[step].on_result
    assert on_result is not None
    async with driver.plane.database.transaction() as tx:
        await on_result(tx, job, result)


async def list_snapshots(client: Client, site: str) -> list[dict[str, Any]]:
    response = await client.get(f"/v1/sites/{site}/snapshots")
    assert response.status_code == 200, response.text
    return list(response.json()["data"])


async def read_status(client: Client) -> list[dict[str, Any]]:
    response = await client.get("/v1/backups/status")
    assert response.status_code == 200, response.text
    assert response.json()["data"]["truncated"] is False
    return list(response.json()["data"]["sites"])
