"""Temporal comes back with an empty disk: no job is in progress for ever, and its site can be used again."""

import pytest

from stead.control.jobs.rules import JobLost
from stead.dev.engines.temporal import Temporal
from tests.delivery.delivery import Delivery
from tests.outages.test_nats_lost_its_data import shown_site


async def lose_data(delivery: Delivery) -> None:
    stack = delivery.harness.stack
    await stack.kill(Temporal)
    for file in stack[Temporal].instance.home.glob("temporal.db*"):
        file.unlink()
    await stack.start(Temporal)


@pytest.mark.timeout(300)
async def test_queued_jobs_run_and_jobs_in_progress_end(delivery: Delivery) -> None:
    harness = delivery.harness
    ended = await shown_site(delivery, "<p>one</p>")
    waiting, held = await delivery.site("test"), await delivery.site("test")
    job = await harness.ask("POST", f"/v1/sites/{held.id}/restart")
    harness.node.hold([(job["id"], "restart")])
    await harness.node.wait_until_held([(job["id"], "restart")])
    queue = await harness.lock_queue()
    try:
        queued = await harness.ask("POST", f"/v1/sites/{waiting.id}/restart")
        await lose_data(delivery)
    finally:
        await queue.close()
    await harness.ended(job["id"], queued["id"])
    assert (await delivery.job(queued["id"]))["status"] == "succeeded"
    lost = await delivery.job(job["id"])
    assert (lost["status"], lost["error"]["code"]) == ("failed", JobLost.code)
    # Nothing of the lost job holds its site, and new jobs run.
    again = await delivery.ended("POST", f"/v1/sites/{held.id}/restart")
    assert again["status"] == "succeeded", again["error"]
    harness.speak_as("live")
    job = await delivery.deployed(ended, await delivery.artifact(ended, {"index.html": "<p>two</p>"}))
    assert job["status"] == "succeeded", job["error"]
