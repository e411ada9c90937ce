"""Each module of fault tests has a world of its own: what one breaks, no other notices."""

from collections.abc import AsyncIterator

import pytest

from tests.faults.processes import ApiProcess
from tests.faults.world import World, broken_at_will


@pytest.fixture(scope="module")
async def world() -> AsyncIterator[World]:
    async with broken_at_will() as world:
        yield world


@pytest.fixture(scope="module")
async def two(world: World) -> tuple[ApiProcess, ApiProcess]:
    """Two API processes that know of each other only through the engines."""
    one, other = await world.apis(2)
    return one, other
