"""A full disk of a node, of PostgreSQL or of NATS: sites are served, and work goes on once there is room."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import pytest

from stead.dev.engine import Engine
from stead.dev.engines.nats import Nats
from stead.dev.engines.nginx import Nginx
from stead.dev.engines.postgres import Postgres
from tests.client import code_of
from tests.delivery.delivery import Delivery
from tests.faults.jobs.programs import until
from tests.outages.small_disk import MB, SmallDisk, small_disk
from tests.outages.test_nats_lost_its_data import shown_site

NODE_MB, MIN_FREE_MB = 256, 32
ENGINE_MB = 400
MOST_REQUESTS = 400


@asynccontextmanager
async def node_on_small_disk(delivery: Delivery) -> AsyncIterator[SmallDisk]:
    harness = delivery.harness

    async def stop() -> None:
        await harness.node.kill()
        await harness.stack.stop(Nginx)

    async def start() -> None:
        await harness.stack.start(Nginx)
        harness.node.program.start(STEAD_NODE_MIN_FREE_MB=str(MIN_FREE_MB))

    await stop()
    with small_disk(harness.node.data, NODE_MB) as disk:
        await start()
        yield disk
        await stop()
    await harness.stack.start(Nginx)
    harness.node.start()


@asynccontextmanager
async def engine_on_small_disk(delivery: Delivery, kind: type[Engine], name: str) -> AsyncIterator[SmallDisk]:
    stack = delivery.harness.stack
    await stack.stop(kind)
    with small_disk(stack[kind].instance.home / name, ENGINE_MB) as disk:
        await stack.start(kind)
        yield disk
        await stack.stop(kind)
    await stack.start(kind)


@pytest.mark.timeout(300)
async def test_a_node_with_a_full_disk_serves_its_sites_and_refuses_new_releases(delivery: Delivery) -> None:
    site = await shown_site(delivery, "<p>one</p>")
    artifact = await delivery.artifact(site, {"index.html": "<p>two</p>"})
    async with node_on_small_disk(delivery) as disk:
        await until(lambda: _shows(delivery, site.domain, "<p>one</p>"), "the site is shown")
        disk.fill(leave=MIN_FREE_MB * MB // 2)
        await until(lambda: _says(delivery, "short of disk space"), "the operator sees it")
        refused = await delivery.deployed(site, artifact)
        assert (refused["status"], refused["error"]["code"]) == ("failed", "node.short_of_space")
        assert (await delivery.visit(site)).text == "<p>one</p>"
        # Completely full: the node cannot even record a command, so the job waits.
        disk.fill()
        job = await delivery.harness.ask("POST", f"/v1/sites/{site.id}/restart")
        for _ in range(20):
            assert (await delivery.visit(site)).text == "<p>one</p>"
        disk.empty()
        await delivery.harness.ended(job["id"])
        assert (await delivery.job(job["id"]))["status"] == "succeeded"
        deployed = await delivery.deployed(site, artifact)
        assert deployed["status"] == "succeeded", deployed["error"]
        assert not await _says(delivery, "short of disk space")
    await until(lambda: _shows(delivery, site.domain, "<p>two</p>"), "the site is shown")


@pytest.mark.timeout(300)
async def test_a_full_disk_of_postgresql_is_answered_with_503_and_costs_no_job(delivery: Delivery) -> None:
    site = await shown_site(delivery, "<p>one</p>")
    async with engine_on_small_disk(delivery, Postgres, "cluster") as disk:
        await until(lambda: _answers(delivery), "the API answers")
        queue = await delivery.harness.lock_queue()
        job = await delivery.harness.ask("POST", f"/v1/sites/{site.id}/restart")
        disk.fill()
        answers = set()
        for _ in range(MOST_REQUESTS):
            body = {"scopes": ["sites:read"], "name": "x" * 100}
            answer = await delivery.harness.client.post("/v1/api-keys", json=body)
            answers.add((answer.status_code, code_of(answer)))
            if answer.status_code >= 500:
                break
        assert answers <= {(201, "201"), (503, "unavailable")}
        assert (503, "unavailable") in answers
        assert (await delivery.visit(site)).text == "<p>one</p>"
        disk.empty()
        await queue.close()
        if not delivery.harness.stack.child(Postgres).status.process:
            await delivery.harness.stack.start(Postgres)
        await until(lambda: _answers(delivery), "the API answers")
        await delivery.harness.ended(job["id"])
        assert (await delivery.job(job["id"]))["status"] == "succeeded"
    await until(lambda: _answers(delivery), "the API answers")


@pytest.mark.timeout(300)
async def test_a_full_disk_of_nats_delays_jobs_and_loses_none(delivery: Delivery) -> None:
    site = await shown_site(delivery, "<p>one</p>")
    async with engine_on_small_disk(delivery, Nats, "store") as disk:
        ready = await delivery.ended("POST", f"/v1/sites/{site.id}/restart")
        assert ready["status"] == "succeeded", ready["error"]
        disk.fill()
        job = await delivery.harness.ask("POST", f"/v1/sites/{site.id}/restart")
        for _ in range(20):
            assert (await delivery.visit(site)).text == "<p>one</p>"
        disk.empty()
        # NATS turns JetStream off when it cannot write, until it is restarted.
        await delivery.harness.stack.stop(Nats)
        await delivery.harness.stack.start(Nats)
        await delivery.harness.ended(job["id"])
        assert (await delivery.job(job["id"]))["status"] == "succeeded"
    deployed = await delivery.deployed(site, await delivery.artifact(site, {"index.html": "<p>two</p>"}))
    assert deployed["status"] == "succeeded", deployed["error"]
    assert (await delivery.visit(site)).text == "<p>two</p>"


async def _says(delivery: Delivery, words: str) -> bool:
    return words in await delivery.steadctl("nodes", "list")


async def _answers(delivery: Delivery) -> bool:
    try:
        return (await delivery.harness.client.get("/v1/sites")).is_success
    except httpx.TransportError:
        return False


async def _shows(delivery: Delivery, host: str, page: str) -> bool:
    try:
        answer = await delivery.visitor.get(f"http://{delivery.edge}/", headers={"host": host})
    except httpx.TransportError:
        return False
    return answer.text == page
