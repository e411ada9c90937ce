"""NATS comes back with an empty disk: no visitor notices, and the edges get every record again."""

import asyncio
import contextlib
import shutil
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator

import httpx
import pytest

from stead.control.certificates.progress import key_context
from stead.dev.engines.nats import Nats
from stead.dev.local_node import LOCAL_NODE, LOCAL_REGION
from stead.dev.self_signed import create_certificate
from stead.protocol.edge_records import certificate_key, environment_key, host_key, node_key
from tests.delivery.delivery import Delivery, Site
from tests.faults.jobs.programs import until

READ_PAUSE = 0.05


async def lose_data(delivery: Delivery) -> None:
    stack = delivery.harness.stack
    await stack.kill(Nats)
    await asyncio.to_thread(shutil.rmtree, stack[Nats].instance.home / "store")
    await stack.start(Nats)


async def shown_site(delivery: Delivery, page: str) -> Site:
    site = await delivery.site()
    job = await delivery.deployed(site, await delivery.artifact(site, {"index.html": page}))
    assert job["status"] == "succeeded", job["error"]
    return site


async def add_certificate(delivery: Delivery, host: str) -> bytes:
    """A certificate that the edges have had for a while. Returns its private key."""
    chain, key = create_certificate(host)
    await delivery.harness.sql(
        "update certificates set state = 'valid', stage = 'settled', ca = 'test', chain = $2,"
        " sealed_key = $3, issued_at = now(), expires_at = now() + interval '90 days', told_region = region,"
        " served_since = now(), next_attempt_at = now() + interval '60 days' where host = $1",
        *(host, chain.decode(), delivery.desk.sealer.seal(key, context=key_context(host))),
    )
    return key


def stored_keys(delivery: Delivery) -> set[str]:
    """The keys of the records that the node has."""
    store = delivery.harness.node.data / "edge.sqlite"
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
        return {key for (key,) in database.execute("select key from records where value is not null")}


def history(delivery: Delivery) -> str:
    """Names the bucket that the node follows."""
    store = delivery.harness.node.data / "edge.sqlite"
    with contextlib.closing(sqlite3.connect(f"file:{store}?mode=ro", uri=True)) as database:
        return str(database.execute("select history from progress where not confirming").fetchone())


@contextlib.asynccontextmanager
async def visited(delivery: Delivery, site: Site) -> AsyncIterator[Counter[str]]:
    """Visit the site all the time, and count what visitors saw."""
    seen, done = Counter[str](), asyncio.Event()

    async def visit() -> None:
        while not done.is_set():
            try:
                answer = await delivery.visit(site)
                seen[answer.text if answer.status_code == 200 else f"{answer.status_code}"] += 1
            except httpx.HTTPError as error:
                seen[type(error).__name__] += 1
            await asyncio.sleep(READ_PAUSE)

    visiting = asyncio.create_task(visit())
    try:
        yield seen
    finally:
        done.set()
        await visiting


@pytest.mark.timeout(300)
async def test_visitors_see_every_site_while_the_workers_restore_the_records(delivery: Delivery) -> None:
    site = await shown_site(delivery, "<p>one</p>")
    secure = await shown_site(delivery, "<p>two</p>")
    await add_certificate(delivery, secure.domain)
    artifact = await delivery.artifact(site, {"index.html": "<p>three</p>"})
    before = history(delivery)
    async with visited(delivery, site) as seen:
        await lose_data(delivery)
        job = await delivery.harness.ask("POST", f"/v1/sites/{secure.id}/restart")
        await until(lambda: _restored(delivery, before), "the node follows the new history")
        await delivery.harness.ended(job["id"])
        assert (await delivery.job(job["id"]))["status"] == "succeeded"
        for wanted in (site, secure):
            assert environment_key(LOCAL_REGION, wanted.env) in stored_keys(delivery)
            assert host_key(LOCAL_REGION, wanted.domain) in stored_keys(delivery)
        assert certificate_key(LOCAL_REGION, secure.domain) in stored_keys(delivery)
        assert node_key(LOCAL_REGION, LOCAL_NODE) in stored_keys(delivery)
        assert set(seen) == {"<p>one</p>"}
        job = await delivery.deployed(site, artifact)
        assert job["status"] == "succeeded", job["error"]
        await until(lambda: _shows(delivery, site, "<p>three</p>"), "the new release is shown")
    assert set(seen) == {"<p>one</p>", "<p>three</p>"}


async def _restored(delivery: Delivery, before: str) -> bool:
    return history(delivery) not in (before, "None")


async def _shows(delivery: Delivery, site: Site, page: str) -> bool:
    return (await delivery.visit(site)).text == page
