"""One whole installation for all these tests; each leaves it in working order."""

from collections.abc import AsyncIterator

import pytest

from tests.delivery.delivery import Delivery
from tests.faults.jobs.harness import everything


@pytest.fixture(scope="package")
async def delivery() -> AsyncIterator[Delivery]:
    async with everything() as harness:
        it = Delivery(harness)
        await it.objects.ensure_bucket()
        yield it
        await it.visitor.aclose()
