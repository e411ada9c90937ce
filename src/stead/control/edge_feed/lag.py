"""Measures how far the edges are behind the records that were published for them."""

import asyncio
from collections.abc import Iterable
from datetime import datetime

from stead.control import metrics
from stead.control.edge_feed.feed import EdgeFeed
from stead.control.nodes.rules import NodeStatus
from stead.shared.metrics import set_all

REQUESTS_AT_ONCE = 8


async def measure_lag(feed: EdgeFeed, nodes: Iterable[NodeStatus], now: datetime) -> None:
    """Set the lag of every node that has ever sent a heartbeat. `now` is the time of the real clock, because
    NATS stores when a record was published."""
    slots = asyncio.Semaphore(REQUESTS_AT_ONCE)

    async def measure(node: NodeStatus) -> tuple[str, float]:
        async with slots:
            since = await feed.oldest_unapplied(node.region, node.id)
        return node.id, max((now - since).total_seconds(), 0.0) if since else 0.0

    seen = [node for node in nodes if node.last_seen_at is not None]
    set_all(metrics.edge_feed_lag, dict(await asyncio.gather(*map(measure, seen))))
