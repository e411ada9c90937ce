"""Visitors need nothing of the control plane: every site is served while all of it is away."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from stead.dev.engines.nats import Nats
from stead.protocol.subjects import Node
from tests.edges.machine import Machine
from tests.edges.region import Region, Site
from tests.faults.jobs.programs import until
from tests.patience import Patience

SITES_A_NODE = 4
BACK_WITHIN = 30.0
EARLY = "asked-early.example.com"
UNHEARD_SECONDS = 2.0
"""Enough for a worker to look for a node, and less than it waits for one."""


@asynccontextmanager
async def alone(region: Region) -> AsyncIterator[None]:
    await region.stop_control_plane()
    try:
        yield
    finally:
        await region.start_control_plane()


async def right(region: Region, machine: Machine, site: Site) -> bool:
    answer = await region.visit(machine, site.host)
    return answer.status_code == 200 and (site.page in answer.text)


async def all_right(region: Region, sites: list[Site]) -> None:
    for machine in region.machines:
        for site in sites:
            assert await right(region, machine, site), f"{site.host} at {machine.id}"


async def until_back(region: Region, machine: Machine, sites: list[Site]) -> Counter[str]:
    """Asks for every site again and again until each is answered; how often with what."""
    answers, patience = Counter[str](), Patience(BACK_WITHIN)
    left = list(sites)
    while left:
        assert not patience.is_over, f"{[site.host for site in left]} did not come back: {answers}"
        for site in tuple(left):
            try:
                answer = await region.visit(machine, site.host)
            except httpx.TransportError:
                answers["no connection"] += 1
                continue
            answers[answer.headers.get("x-stead-reason", f"{answer.status_code}")] += 1
            if answer.status_code == 200:
                assert site.page in answer.text
                left.remove(site)
        await asyncio.sleep(0.01)
    return answers


async def place_before_nodes_are_heard(region: Region) -> str:
    """The job of a site that has waited for longer than a node is waited for, taken up by a worker that has
    heard none since it started. It is not refused for that."""
    await region.start_control_plane(workers=False)
    for machine in region.machines:
        await until(
            region.stack[Nats].receives_heartbeat, f"{machine.id} has found NATS again", Node(machine.id)
        )
        machine.wire.cut("silent")
    try:
        job = await region.ask("POST", "/v1/sites", {"domain": EARLY, "profile": "static"})
        # Instead of sitting the time out.
        await region.sql("update jobs set created_at = created_at - interval '1 minute' where id = $1", job)
        await region.sql("update nodes set last_seen_at = now() - interval '1 minute'")
        await region.start_control_plane()
        taken_up = "select from jobs where id = $1 and dispatched_at is not null"
        await until(region.sql, "the job is taken up", taken_up, job)
        await asyncio.sleep(UNHEARD_SECONDS)
        assert (await region.job(job))["status"] in ("queued", "running")
    finally:
        for machine in region.machines:
            machine.wire.mend()
    return job


async def test_both_edges_serve_every_site_through_restarts_too_and_take_new_ones_when_it_is_back(
    region: Region,
) -> None:
    sites = [await region.publish(each) for each in region.machines for _ in range(SITES_A_NODE)]
    sites += [await region.site_on(each) for each in region.machines]
    here, other = region.machines
    async with alone(region):
        await all_right(region, sites)

        await here.nginx.stop()
        here.nginx.start()
        answers = await until_back(region, here, sites)
        assert set(answers) <= {"no connection", "starting", "200"}
        await all_right(region, sites)

        await other.nginx.kill()
        await other.agent.kill()
        other.start()
        answers = await until_back(region, other, sites)
        assert set(answers) <= {"no connection", "starting", "200"}
        await all_right(region, sites)

        early = await place_before_nodes_are_heard(region)
    await region.succeeded(early)
    # A node that has not been heard again is not waited for.
    for machine in region.machines:
        await region.heard(machine)
    await region.level()
    assert await region.seen(EARLY) == [(200, "")] * 2
    await all_right(region, sites)
