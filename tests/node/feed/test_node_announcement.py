"""A worker and a new node, as real processes on real engines."""

import contextlib
import sqlite3
from pathlib import Path

from stead.control.edge_feed.feed import EdgeFeed, FeedUnavailable
from stead.dev.engines import ENGINES
from stead.dev.engines.nginx import Nginx
from stead.dev.local_node import LOCAL_NODE, LOCAL_REGION
from stead.dev.programs import STEAD_PROGRAMS
from stead.dev.running_stack import run_stack
from stead.protocol.edge_records import HostRecord, host_key, node_key
from tests.node.feed.feed_harness import worker_connection
from tests.node.harness import until


async def test_a_worker_announces_a_node_after_its_heartbeat_and_creates_its_consumers(scratch: Path) -> None:
    async with (
        run_stack(scratch, [*ENGINES, *STEAD_PROGRAMS]) as stack,
        worker_connection(stack) as connection,
    ):
        edges = EdgeFeed(connection)

        async def introduced() -> bytes | None:
            try:
                return await edges.read_record(node_key(LOCAL_REGION, LOCAL_NODE))
            except FeedUnavailable:
                return None

        assert stack[Nginx].address.encode() in await until(introduced, bound=60)
        key = host_key(LOCAL_REGION, "shop.example.com")
        await edges.put({key: HostRecord("env_1")})

        async def stored() -> bool | None:
            with contextlib.closing(sqlite3.connect(stack.node_data / "edge.sqlite")) as database:
                return (
                    bool(database.execute("select 1 from records where key = ?", (key,)).fetchone()) or None
                )

        await until(stored)
