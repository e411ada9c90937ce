"""NATS or Temporal hangs for longer than its clients wait: its process exists and accepts connections, and
answers nothing. Nobody notices except jobs, which wait. Nothing is lost, and nothing is done twice."""

import os
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import httpx
import pytest

from stead.control.edge_feed.feed import EdgeFeed
from stead.control.engines import nats
from stead.dev.engine import Engine
from stead.dev.engines.nats import Nats
from stead.dev.engines.temporal import Temporal
from stead.protocol.subjects import Program as Role
from tests.delivery.delivery import Delivery, Site
from tests.faults.jobs.harness import Harness
from tests.faults.jobs.programs import until
from tests.outages.test_nats_lost_its_data import shown_site, visited
from tests.patience import Patience, time_limit

STOP_SECONDS = 10.0
ANSWER_SECONDS = 15.0
"""Within this, everything that needs the engine that hangs is answered."""


@contextmanager
def hanging(harness: Harness, engine: type[Engine]) -> Iterator[None]:
    process = harness.stack.child(engine).status.process
    assert process is not None
    os.kill(process.pid, signal.SIGSTOP)
    try:
        # On a busy machine its other threads go on until the one that got the signal was scheduled.
        limit = Patience(STOP_SECONDS)
        while not _is_stopped(process.pid):
            assert not limit.is_over, f"{engine.name} goes on"
            time.sleep(0.001)
        yield
    finally:
        os.kill(process.pid, signal.SIGCONT)


def _is_stopped(pid: int) -> bool:
    threads = Path(f"/proc/{pid}/task").glob("*/stat")
    return all(thread.read_text().rpartition(")")[2].split()[0] == "T" for thread in threads)


class Health:
    """What the API and a worker say about their engines."""

    def __init__(self, harness: Harness) -> None:
        self._api = harness.client
        self._worker = f"http://127.0.0.1:{harness.stack.ports['worker_health']}"

    async def of_api(self, engine: str) -> bool:
        return bool((await self._api.get("/readyz")).json()["engines"][engine])

    async def of_worker(self, engine: str) -> bool | None:
        """None while it does not answer, as right after its start."""
        try:
            answer = await self._api.get(f"{self._worker}/readyz")
        except httpx.TransportError:
            return None
        engines = answer.json()["engines"]
        assert answer.status_code == (200 if all(engines.values()) else 503)
        return bool(engines[engine])


@pytest.fixture
async def health(delivery: Delivery) -> Health:
    health = Health(delivery.harness)
    for engine in ("nats", "temporal"):
        await until(health.of_worker, f"the worker reaches {engine}", engine)
    return health


@asynccontextmanager
async def held_restart(harness: Harness, *sites: Site) -> AsyncIterator[list[str]]:
    """Jobs that the node has begun and that do not end by themselves."""
    jobs = [(await harness.ask("POST", f"/v1/sites/{site.id}/restart"))["id"] for site in sites]
    steps = [(job, "restart") for job in jobs]
    harness.node.hold(steps)
    await harness.node.wait_until_held(steps)
    yield jobs


async def succeeded_once(delivery: Delivery, *jobs: str, at_most: int = 1) -> None:
    """No step was carried out more often than `at_most` times."""
    await delivery.harness.ended(*jobs)
    for job in jobs:
        found = await delivery.job(job)
        assert found["status"] == "succeeded", found["error"]
        carried_out = [step.carried_out for step in delivery.harness.node.steps(job).values()]
        assert 1 <= min(carried_out) <= max(carried_out) <= at_most


async def _is_down(look: Callable[[str], Awaitable[bool | None]], engine: str) -> bool:
    return await look(engine) is False


def count_events(harness: Harness, event: str) -> int:
    return sum(worker.count_log_events(event) for worker in harness.workers)


@pytest.mark.timeout(300)
async def test_nats_hangs(delivery: Delivery, health: Health) -> None:
    harness = delivery.harness
    shown = await shown_site(delivery, "<p>one</p>")
    artifact = await delivery.artifact(shown, {"index.html": "<p>two</p>"})
    first, second = await delivery.site("test"), await delivery.site("test")
    (ended,) = await harness.sql("select id from jobs where site_id = $1", second.id)
    unreachable = "select from events where type = 'site.unreachable'"
    before = len(await harness.sql(unreachable))
    async with visited(delivery, shown) as seen, held_restart(harness, first) as [held]:
        given_up = harness.workers[0].count_log_events("nats.error")
        with hanging(harness, Nats):
            for look in (health.of_api, health.of_worker):
                await until(_is_down, "it is shown that NATS hangs", look, "nats")
            queued = (await harness.ask("POST", f"/v1/sites/{second.id}/restart"))["id"]
            assert await harness.read_list("/v1/sites")
            async with time_limit(ANSWER_SECONDS):
                # Its output cannot be read now. A client that asks again gets it later.
                output = (await harness.client.get(f"/v1/jobs/{ended['id']}/stream")).text
            assert "event: done" not in output
            harness.node.release((held, "restart"))
            # As after half a minute. Nobody can hear the nodes, so nothing is known about them.
            await harness.sql("update nodes set last_seen_at = now() - interval '1 hour'")

            async def worker_connects_again() -> bool:
                return harness.workers[0].count_log_events("nats.error") > given_up

            await until(worker_connects_again, "the worker gives the connection up")
        await succeeded_once(delivery, held, queued)
        for look in (health.of_api, health.of_worker):
            await until(look, "NATS is back", "nats")
        assert set(seen) == {"<p>one</p>"}
    assert len(await harness.sql(unreachable)) == before
    assert (await delivery.get(f"/v1/sites/{second.id}"))["status"] == "running"
    harness.speak_as("live")
    job = await delivery.deployed(shown, artifact)
    assert job["status"] == "succeeded", job["error"]


async def test_a_connection_survives_a_pause_of_nats(delivery: Delivery) -> None:
    """A request that ended before its answer arrived must not end the reading of the others."""
    login = delivery.harness.stack[Nats].login(Role.WORKER)
    client = nats.Nats(login.url, user=login.user, password=login.password, program=Role.WORKER)
    client.start()
    await client.ready()
    try:
        with hanging(delivery.harness, Nats), pytest.raises(TimeoutError):
            await client.flush(0.2)
        await client.flush(ANSWER_SECONDS)
        assert await EdgeFeed(client).last_revision()
        assert client.client.stats["reconnects"] == 0
    finally:
        await client.stop()


@pytest.mark.timeout(300)
async def test_temporal_hangs(delivery: Delivery, health: Health) -> None:
    harness = delivery.harness
    shown = await shown_site(delivery, "<p>one</p>")
    first, second, third = [await delivery.site("test") for _ in range(3)]
    async with visited(delivery, shown) as seen, held_restart(harness, first, second) as [held, unwanted]:
        postponed = count_events(harness, "dispatch.postponed"), count_events(harness, "cancel.postponed")
        with hanging(harness, Temporal):
            await until(_is_down, "it is shown that Temporal hangs", health.of_worker, "temporal")
            queued = (await harness.ask("POST", f"/v1/sites/{third.id}/restart"))["id"]
            await harness.ask("POST", f"/v1/jobs/{unwanted}/cancel")
            assert await harness.read_list("/v1/sites")
            assert await health.of_api("nats")
            harness.node.release((held, "restart"))

            async def both_postponed() -> bool:
                now = count_events(harness, "dispatch.postponed"), count_events(harness, "cancel.postponed")
                return now[0] > postponed[0] and now[1] > postponed[1]

            await until(both_postponed, "the requests to Temporal end")
            assert (await delivery.job(queued))["status"] == "queued"
        # Temporal repeats a step whose worker it has not heard for too long.
        await succeeded_once(delivery, held, at_most=2)
        await succeeded_once(delivery, queued)
        await harness.ended(unwanted)
        assert (await delivery.job(unwanted))["error"]["code"] == "job.cancelled"
        assert harness.node.steps(unwanted)["restart"].carried_out == 1
        await until(health.of_worker, "Temporal is back", "temporal")
        assert set(seen) == {"<p>one</p>"}
