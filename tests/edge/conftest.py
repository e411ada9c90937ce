from collections.abc import AsyncIterator

import pytest

from tests.edge.edge_harness import EdgeHarness
from tests.edge.edge_harness import start_edge as running_edge


@pytest.fixture(scope="module")
async def edge() -> AsyncIterator[EdgeHarness]:
    async with running_edge() as made:
        yield made
