"""One region for all of these tests; each leaves it as it was."""

from collections.abc import AsyncIterator

import pytest

from tests.edges.region import Region, region


@pytest.fixture(scope="package", name="region")
async def shared_region() -> AsyncIterator[Region]:
    async with region() as made:
        yield made
