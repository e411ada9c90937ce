"""A region with one node, its feed in this process or in one of its own, and a stand-in for its nginx."""

from collections.abc import AsyncIterator

import pytest

from stead.control.engines.nats import Nats
from stead.dev.running_stack import RunningStack
from stead.protocol.subjects import Program
from stead.shared.ids import new_id
from tests.node.feed.scene import Scene, scene, working
from tests.node.stage import Stage, connected, stage


@pytest.fixture
async def there(nats_stack: RunningStack) -> AsyncIterator[Scene]:
    """In a region of its own, on the NATS of the module."""
    region = new_id("r").replace("_", "-")
    async with (
        connected(nats_stack, Program.OPERATOR) as operator,
        stage(nats_stack, operator, region) as it,
        scene(it, region) as found,
    ):
        yield found


@pytest.fixture
async def apart(alone: tuple[RunningStack, Stage]) -> AsyncIterator[tuple[RunningStack, Scene]]:
    """On a NATS of its own, which a test may stop."""
    stack, it = alone
    async with scene(it, "us-east") as found:
        yield stack, found


@pytest.fixture
async def worker(nats_stack: RunningStack) -> AsyncIterator[Nats]:
    async with working(nats_stack) as it:
        yield it
