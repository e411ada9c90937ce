"""Visitors need nothing of the control plane: every site is served while all of it is away."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx

from stead.dev.programs import Worker
from tests.edges.machine import Machine
from tests.edges.region import Region, Site

SITES_A_NODE = 4
BACK_WITHIN = 30.0


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
    answers, ends = Counter[str](), time.monotonic() + BACK_WITHIN
    left = list(sites)
    while left:
        assert time.monotonic() < ends, f"{[site.host for site in left]} did not come back: {answers}"
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


async def test_both_edges_serve_every_site_also_through_restarts(region: Region) -> None:
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
    await region.level()
    await all_right(region, sites)
    late = await region.new_site()
    assert await region.seen(late.host) == [(200, "")] * 2


async def test_a_site_that_was_asked_for_while_no_worker_ran_is_placed_when_one_is_back(
    region: Region,
) -> None:
    host = "asked-early.example.com"
    await region.stack.stop(Worker)
    try:
        job = await region.ask("POST", "/v1/sites", {"domain": host, "profile": "static"})
        # Instead of sitting the time out: it has waited for longer than a node is waited for, and no node
        # was heard meanwhile.
        await region.sql("update jobs set created_at = created_at - interval '1 minute' where id = $1", job)
        await region.sql("update nodes set last_seen_at = now() - interval '1 minute'")
    finally:
        await region.stack.start(Worker)
    await region.succeeded(job)
    assert await region.seen(host) == [(200, "")] * 2
