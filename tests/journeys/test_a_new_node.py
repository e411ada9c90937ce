"""A worker and a new node, as real processes on real engines."""

import contextlib
import sqlite3

from stead.control.edge_feed.feed import EdgeFeed, FeedUnavailable
from stead.dev.engines.nginx import Nginx
from stead.dev.local_node import LOCAL_NODE, LOCAL_REGION
from stead.dev.running_stack import RunningStack
from stead.protocol.edge_records import HostRecord, host_key, node_key
from tests.node.feed.feed_harness import worker_connection
from tests.node.harness import until

HOST = "new-node.example.com"


async def test_a_worker_announces_a_node_after_its_heartbeat_and_creates_its_consumers(
    stack: RunningStack,
) -> None:
    async with worker_connection(stack) as connection:
        edges = EdgeFeed(connection)

        async def introduced() -> bytes | None:
            try:
                return await edges.read_record(node_key(LOCAL_REGION, LOCAL_NODE))
            except FeedUnavailable:
                return None

        assert stack[Nginx].address.encode() in await until(introduced, bound=60)
        key = host_key(LOCAL_REGION, HOST)
        await edges.put({key: HostRecord("env_1")})

        async def stored() -> bool | None:
            with contextlib.closing(sqlite3.connect(stack.node_data / "edge.sqlite")) as database:
                found = database.execute("select 1 from records where key = ?", (key,)).fetchone()
            return bool(found) or None

        await until(stored)
        await edges.put({key: None})
