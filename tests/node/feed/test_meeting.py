"""A worker and a node that have never heard of one another, as real processes on real engines."""

import contextlib
import sqlite3
from pathlib import Path

from stead.control.edge_feed.feed import Edges, FeedUnavailable
from stead.dev.running import running
from stead.dev.stack import EVERY, NODE, PROGRAMS, REGION
from stead.protocol.edge import Host, host_key, node_key
from tests.node.feed.scene import working
from tests.node.stage import until


async def test_a_worker_that_hears_a_node_introduces_it_to_its_region_and_feeds_it(scratch: Path) -> None:
    async with running(scratch, [*EVERY, *PROGRAMS]) as stack, working(stack) as connection:
        edges = Edges(connection)

        async def introduced() -> bytes | None:
            try:
                return await edges.read(node_key(REGION, NODE))
            except FeedUnavailable:
                return None

        assert stack.nginx.address.encode() in await until(introduced, bound=60)
        key = host_key(REGION, "shop.example.com")
        await edges.put({key: Host("env_1")})

        async def stored() -> bool | None:
            with contextlib.closing(sqlite3.connect(stack.node_data / "edge.sqlite")) as database:
                return (
                    bool(database.execute("select 1 from records where key = ?", (key,)).fetchone()) or None
                )

        await until(stored)
