"""A node is lost for good: one command gives its sites to another node, and visitors reach them there."""

from typing import Any

import pytest

from stead.dev.local_node import LOCAL_REGION
from stead.dev.programs import STEADCTL
from stead.dev.supervised_program import clean_environment
from stead.protocol.edge_records import node_key
from stead.protocol.subjects import Program as Role
from tests.edges.region import Region
from tests.faults.jobs.programs import until
from tests.preloaded.processes import run


async def steadctl(region: Region, *words: str, code: int = 0) -> str:
    done = await run([*STEADCTL, *words], env=clean_environment(region.stack.environment(Role.WORKER)))
    assert done.code == code, done.errors
    return done.output + done.errors


@pytest.mark.timeout(240)
async def test_the_sites_of_a_removed_node_are_served_by_another_and_none_is_forgotten(
    region: Region,
) -> None:
    dying, living = region.machines
    site = await region.site_on(dying)
    staging = await region.done("POST", f"/v1/sites/{site.id}/environments", {"type": "staging"})
    paused = await region.done(
        "POST", f"/v1/sites/{site.id}/environments", {"type": "branch", "branch": "paused"}
    )
    await region.done("POST", f"/v1/sites/{site.id}/environments/{paused['result']['env_id']}/suspend")
    unpushed = await region.site_on(dying)
    await region.sql("update sites set status = 'awaiting_push' where id = $1", unpushed.id)
    assert "sends heartbeats" in await steadctl(region, "nodes", "remove", dying.id, code=1)
    await dying.kill()
    # A job that waits for the node, as it would until its time limit.
    waiting = await region.ask("POST", f"/v1/sites/{site.id}/restart")
    await until(lambda: _asked(region, waiting, dying.id), "the job has asked the lost node")
    await region.sql("update nodes set last_seen_at = now() - interval '1 hour' where id = $1", dying.id)
    try:
        await region.sql("update nodes set draining = true where id = $1", living.id)
        assert "no node of their region has room" in await steadctl(
            region, "nodes", "remove", dying.id, code=1
        )
        await region.sql("update nodes set draining = false where id = $1", living.id)
        said = await steadctl(region, "nodes", "remove", dying.id)
        assert "environments are being restored on other nodes" in said
        assert not await region.sql("select from nodes where id = $1", dying.id)
        for each in (site, unpushed):
            await until(_all_ended, "every job of the site has ended", region, each.id, bound=120)
        rows = await region.sql(
            "select e.type, e.node_id, e.status, s.status as site from environments e"
            " join sites s on s.id = e.site_id where s.id = $1 order by e.type",
            site.id,
        )
        assert [tuple(row) for row in rows] == [
            ("branch", living.id, "suspended", "running"),
            ("production", living.id, "running", "running"),
            ("staging", living.id, "running", "running"),
        ]
        [waits] = await region.sql(
            "select e.node_id, s.status from environments e join sites s on s.id = e.site_id where s.id = $1",
            unpushed.id,
        )
        assert tuple(waits) == (living.id, "awaiting_push")
        for host in (site.host, unpushed.host, staging["result"]["url"].split("/")[2]):
            answer = await region.visit(living, host)
            assert answer.status_code == 200, answer.text
        suspended = await region.visit(living, paused["result"]["url"].split("/")[2])
        assert suspended.headers["x-stead-reason"] == "suspended"
        assert await region.edges.read_record(node_key(LOCAL_REGION, dying.id)) is None
        assert (await region.job(waiting))["error"]["code"] == "job.cancelled"
        assert "there is no node" in await steadctl(region, "nodes", "remove", dying.id, code=1)
    finally:
        await region.sql("update nodes set draining = false where id = $1", living.id)
        await region.stack.enrol_node(dying.id)
        dying.start()
        await region.heard(dying)
        await region.level()


async def _asked(region: Region, job: str, node: str) -> list[Any]:
    return await region.sql("select from jobs where id = $1 and $2 = any(nodes)", job, node)


async def _all_ended(region: Region, site: str) -> bool:
    return not await region.sql(
        "select from jobs where site_id = $1 and status in ('queued', 'running')", site
    )
