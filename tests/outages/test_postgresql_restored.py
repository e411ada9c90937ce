"""The database is restored to an earlier time: edges and nodes know more than it, and follow it."""

import shutil
import subprocess
from pathlib import Path

import httpx
import pytest

from stead.dev.engines.postgres import Postgres
from stead.dev.local_node import LOCAL_REGION
from stead.protocol.edge_records import environment_key, host_key
from tests.delivery.delivery import Delivery
from tests.faults.jobs.programs import until
from tests.outages.test_nats_lost_its_data import add_certificate, shown_site, stored_keys


def _copy(source: Path, target: Path) -> None:
    """With the owner of the files."""
    subprocess.run(["/bin/cp", "-a", str(source), str(target)], check=True)


@pytest.mark.timeout(300)
async def test_edges_show_what_the_restored_database_says_and_no_job_is_stuck(delivery: Delivery) -> None:
    harness, stack = delivery.harness, delivery.harness.stack
    cluster = stack[Postgres].instance.home / "cluster"
    backup = cluster.with_name("backup")
    changed, deleted = await shown_site(delivery, "<p>one</p>"), await shown_site(delivery, "<p>back</p>")
    harness.speak_as("test")
    held = await delivery.site("test")
    running = await harness.ask("POST", f"/v1/sites/{held.id}/restart")
    harness.node.hold([(running["id"], "restart")])
    await harness.node.wait_until_held([(running["id"], "restart")])
    await stack.stop(Postgres)
    _copy(cluster, backup)
    await stack.start(Postgres)
    # All of this is forgotten by the restore.
    harness.node.release((running["id"], "restart"))
    await harness.ended(running["id"])
    harness.speak_as("live")
    job = await delivery.deployed(changed, await delivery.artifact(changed, {"index.html": "<p>two</p>"}))
    assert job["status"] == "succeeded", job["error"]
    created = await shown_site(delivery, "<p>new</p>")
    await add_certificate(delivery, created.domain)
    await delivery.ended("DELETE", f"/v1/sites/{deleted.id}", {"confirm_domain": deleted.domain})
    # As docs/operations.md says: stop the API and the workers, restore, start them, announce.
    await harness.api.kill()
    await harness.kill_workers()
    await stack.stop(Postgres)
    shutil.rmtree(cluster)
    backup.rename(cluster)
    await stack.start(Postgres)
    harness.api.start()
    harness.start_workers()
    await until(lambda: _answers(delivery), "the API answers")
    assert (await delivery.visit(created)).text == "<p>new</p>", "nobody has told the edges yet"
    said = await delivery.steadctl("announce")
    assert "records of unknown sites were deleted" in said
    await until(lambda: _shows(delivery, changed.domain, "<p>one</p>"), "the earlier release is shown")
    await until(lambda: _shows(delivery, deleted.domain, "<p>back</p>"), "the deleted site is back")
    assert (await delivery.visit(created)).status_code == 404
    unknown = {environment_key(LOCAL_REGION, created.env), host_key(LOCAL_REGION, created.domain)}
    assert not unknown & stored_keys(delivery)
    # The job that the backup shows in progress has ended in Temporal: it ends here too.
    await harness.ended(running["id"])
    harness.speak_as("test")
    assert (await delivery.job(running["id"]))["status"] in ("succeeded", "failed")
    again = await delivery.ended("POST", f"/v1/sites/{held.id}/restart")
    assert again["status"] == "succeeded", again["error"]
    harness.speak_as("live")
    job = await delivery.deployed(changed, await delivery.artifact(changed, {"index.html": "<p>three</p>"}))
    assert job["status"] == "succeeded", job["error"]
    assert (await delivery.visit(changed)).text == "<p>three</p>"
    assert "0 records of unknown sites" in await delivery.steadctl("announce")


async def _answers(delivery: Delivery) -> bool:
    try:
        return (await delivery.harness.client.get("/readyz")).is_success
    except httpx.TransportError:
        return False


async def _shows(delivery: Delivery, host: str, page: str) -> bool:
    answer = await delivery.visitor.get(f"http://{delivery.edge}/", headers={"host": host})
    return answer.text == page
