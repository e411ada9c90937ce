"""The NATS connection of a node."""

import asyncio

from stead.node.nats_connection import NatsConnection
from tests.node.harness import NodeHarness
from tests.patience import time_limit


async def test_a_connection_attempt_can_be_stopped(here: NodeHarness) -> None:
    """At any moment, although the client library may swallow the cancellation."""
    for turns in range(60):
        async with time_limit(10), NatsConnection(here.as_settings()).keep_open():
            for _ in range(turns):
                await asyncio.sleep(0)
