from collections.abc import AsyncIterator

import pytest

from tests.edge.stage import Edge
from tests.edge.stage import edge as running_edge


@pytest.fixture(scope="module")
async def edge() -> AsyncIterator[Edge]:
    async with running_edge() as started:
        yield started
