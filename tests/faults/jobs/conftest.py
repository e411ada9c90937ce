"""One installation for the whole suite: its engines and programs are broken in turn, and mended."""

from collections.abc import AsyncIterator

import pytest

from tests.faults.jobs.harness import Harness, everything

pytest.register_assert_rewrite("tests.faults.jobs.checks")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "faults: kills programs and engines; minutes long, run by `make faults`"
    )


@pytest.fixture(scope="session")
async def harness() -> AsyncIterator[Harness]:
    async with everything() as harness:
        yield harness
