"""A region with one node and a fake nginx; the feed runs in this process or in another one."""

from collections.abc import AsyncIterator

import pytest

from stead.control.engines.nats import Nats
from stead.dev.running_stack import RunningStack
from stead.protocol.subjects import Program
from stead.shared.ids import new_id
from tests.node.feed.feed_harness import FeedHarness, start_feed_harness, worker_connection
from tests.node.harness import NodeHarness, connected, start_harness


@pytest.fixture
async def there(nats_stack: RunningStack) -> AsyncIterator[FeedHarness]:
    """A feed in its own region, on the NATS of the module."""
    region = new_id("r").replace("_", "-")
    async with (
        connected(nats_stack, Program.OPERATOR) as operator,
        start_harness(nats_stack, operator, region) as it,
        start_feed_harness(it, region) as found,
    ):
        yield found


@pytest.fixture
async def apart(alone: tuple[RunningStack, NodeHarness]) -> AsyncIterator[tuple[RunningStack, FeedHarness]]:
    """A feed on its own NATS, which a test may stop."""
    stack, it = alone
    async with start_feed_harness(it, "us-east") as found:
        yield stack, found


@pytest.fixture
async def worker(nats_stack: RunningStack) -> AsyncIterator[Nats]:
    async with worker_connection(nats_stack) as it:
        yield it
