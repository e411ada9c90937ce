"""Which node gets new environments and builds."""

from datetime import timedelta

import pytest

from stead.control.app import ControlPlane
from stead.control.jobs.definition import Refused
from stead.control.nodes import service as nodes
from stead.control.nodes import store
from stead.protocol.commands import Heartbeat
from tests.enrolled_nodes import record_node

REGION = "placement"


async def test_a_node_short_of_disk_space_gets_no_environments_and_no_builds(plane: ControlPlane) -> None:
    async with plane.database.transaction() as tx:
        since = tx.now - timedelta(hours=1)
        for node, short in (("node-full", True), ("node-free", False)):
            heartbeat = Heartbeat(node, REGION, 100, 0, "1", builders=("static",), short_of_space=short)
            await record_node(tx, node, REGION, builders=("static",))
            await nodes.record_heartbeat(tx, heartbeat)
        assert (
            await nodes.choose_node(tx, REGION, "static", waiting_since=since, prefer="node-full")
            == "node-free"
        )
        build = await nodes.find_build_node(tx, REGION, "static", prefer="node-full", waiting_since=since)
        assert build == "node-free"
        found = await store.find(tx, "node-full")
        assert found is not None
        assert found.short_of_space


async def test_a_node_gets_no_site_whose_disk_it_cannot_promise(plane: ControlPlane) -> None:
    region = "promises"
    async with plane.database.transaction() as tx:
        since = tx.now - timedelta(hours=1)
        for node, room in (("node-a", 5_000), ("node-b", 2_500), ("node-c", -10)):
            await record_node(tx, node, region)
            await nodes.record_heartbeat(tx, Heartbeat(node, region, 100, 0, "1", room_mb=room))
        chosen = [
            await nodes.choose_node(tx, region, None, waiting_since=since, disk_mb=2_000, prefer="node-a")
            for _ in range(3)
        ]
        assert chosen == ["node-a", "node-a", "node-b"]
        with pytest.raises(Refused):
            await nodes.choose_node(tx, region, None, waiting_since=since, disk_mb=2_000)
        # Other sites need no promise.
        assert await nodes.choose_node(tx, region, None, waiting_since=since, prefer="node-c") == "node-c"
