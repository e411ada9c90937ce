"""A node that does not hear the control plane goes on with what it knows, and catches up."""

import asyncio

import pytest

from stead.control.nodes.rules import LOST_AFTER
from stead.dev.local_node import LOCAL_REGION
from stead.protocol.edge_records import EdgeRecord, EnvironmentRecord, environment_key
from tests.edges.region import Region, Site
from tests.edges.wire import Cut
from tests.faults.jobs.programs import until

CUT_SECONDS = 10.0
CHANGES = 100
WAITED_FOR_SECONDS = 3.0
"""So long a job is watched waiting for a node that was heard a moment ago."""
CUTS: tuple[Cut, ...] = ("silent", "refused")


def shown(site: Site, release: str) -> dict[str, EdgeRecord | None]:
    return {
        environment_key(LOCAL_REGION, site.environment): EnvironmentRecord(
            "site_told", site.carrier.id, release=release
        )
    }


@pytest.mark.parametrize("how", CUTS)
async def test_a_node_that_missed_a_hundred_changes_shows_all_of_them_when_it_is_back(
    region: Region, how: Cut
) -> None:
    here, cut_off = region.machines
    sites = [await region.publish(machine) for machine in region.machines for _ in range(5)]
    for site in sites:
        site.carrier.write_release(f"{site.release}-new", f"<h1>new {site.host}</h1>")
    cut_off.wire.cut(how)
    try:
        for turn in range(CHANGES):
            site = sites[turn % len(sites)]
            release = site.release if turn < CHANGES - len(sites) else f"{site.release}-new"
            revision = await region.edges.put(shown(site, release))
            await asyncio.sleep(CUT_SECONDS / CHANGES)
        await region.edges.wait_until_applied(LOCAL_REGION, [here.id], revision, within=10)
        for site in sites:
            assert (await region.visit(cut_off, site.host)).text == (
                site.page if site.carrier is cut_off else f"<h1>new {site.host}</h1>"
            )
        said = await region.edges.last_applied(cut_off.id)
        assert said is not None
        assert said.revision < revision - CHANGES + 1
    finally:
        cut_off.wire.mend()
    await region.edges.wait_until_applied(LOCAL_REGION, [cut_off.id], revision, within=30)
    for machine in region.machines:
        for site in sites:
            assert (await region.visit(machine, site.host)).text == f"<h1>new {site.host}</h1>"


async def test_a_job_waits_for_a_node_that_was_heard_lately_and_not_for_one_that_is_lost(
    region: Region,
) -> None:
    here, cut_off = region.machines
    site = await region.site_on(here)
    cut_off.wire.cut("silent")
    try:
        change = {"security": {"allowed_ips": ["203.0.113.7"]}}
        job = await region.ask("PATCH", f"/v1/sites/{site.id}/config", change)

        async def refused_here() -> bool:
            return (await region.visit(here, site.host)).status_code == 403

        await until(refused_here, "the edge that hears goes by it")
        await asyncio.sleep(WAITED_FOR_SECONDS)
        assert (await region.job(job))["status"] == "running"
        # Instead of sitting the time out.
        await region.sql(
            "update nodes set last_seen_at = now() - $2::interval where id = $1", cut_off.id, LOST_AFTER
        )
        await region.succeeded(job)
        said = await region.edges.last_applied(cut_off.id)
        assert said is not None
        assert said.revision < await region.edges.last_revision()
    finally:
        cut_off.wire.mend()
    await region.level()
    assert await region.seen(site.host) == [(403, "not_allowed")] * 2
    await region.heard(cut_off)
