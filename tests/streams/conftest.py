"""One harness for all stream tests. A test that breaks something repairs it."""

from collections.abc import AsyncIterator

import pytest

from tests.streams.stage import Stage, raised


@pytest.fixture(scope="package")
async def stage() -> AsyncIterator[Stage]:
    async with raised() as stage:
        yield stage
