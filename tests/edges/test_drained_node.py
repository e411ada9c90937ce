"""Sites are spread over the nodes of their region. A node that is drained gets no new ones, and still serves
those that it has."""

from stead.dev.programs import STEADCTL
from stead.dev.supervised_program import clean_environment
from stead.protocol.subjects import Program as Role
from tests.edges.region import NODES, Region
from tests.preloaded.processes import run


async def drain(region: Region, *words: str) -> None:
    environment = clean_environment(region.stack.environment(Role.WORKER))
    done = await run([*STEADCTL, "nodes", "drain", *words], env=environment)
    assert done.code == 0, done.errors


async def find_least_loaded(region: Region) -> str:
    """Both nodes have the same capacity."""
    rows = await region.sql("select node_id, count(*) from environments where status <> 'deleted' group by 1")
    hosted = {row["node_id"]: row["count"] for row in rows}
    return min(NODES, key=lambda node: hosted.get(node, 0))


async def find_node(region: Region, environment: str) -> str:
    ((node,),) = await region.sql("select node_id from environments where id = $1", environment)
    return str(node)


async def test_new_sites_are_spread_and_none_is_placed_on_a_drained_node(region: Region) -> None:
    draining, other = region.machines
    for _ in range(2):
        expected = await find_least_loaded(region)
        assert (await region.new_site()).carrier.id == expected
    kept = await region.site_on(draining)
    await drain(region, draining.id)
    try:
        for _ in range(2):
            assert (await region.new_site()).carrier is other
        # Usually a copy of production is placed beside it.
        copy = await region.done("POST", f"/v1/sites/{kept.id}/environments", {"type": "staging"})
        assert await find_node(region, copy["result"]["env_id"]) == other.id
        await region.done("POST", f"/v1/sites/{kept.id}/restart")
        assert await find_node(region, kept.environment) == draining.id
        for machine in region.machines:
            for host in (kept.host, copy["result"]["url"].split("/")[2]):
                assert (await region.visit(machine, host)).status_code == 200
    finally:
        await drain(region, draining.id, "--undo")
    expected = await find_least_loaded(region)
    assert (await region.new_site()).carrier.id == expected
