from collections.abc import Iterator

import pytest

from tests.node.databases.harness import DatabaseHarness, running_server


@pytest.fixture(scope="session")
def bench() -> Iterator[DatabaseHarness]:
    """One server for all tests of a process that do not stop or fill it."""
    with running_server(connections=60) as harness:
        yield harness
