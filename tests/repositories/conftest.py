"""One object store and one gateway for all tests of this package; every test has sites of its own."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.programs import Repositories
from stead.dev.running_stack import RunningStack, run_stack
from tests.repositories.site_backups import Gateway


@pytest.fixture(scope="session")
async def store() -> AsyncIterator[RunningStack]:
    with tempfile.TemporaryDirectory(prefix="stead-repositories-") as data:
        async with run_stack(Path(data), [SeaweedFS, Repositories]) as stack:
            yield stack


@pytest.fixture(scope="session")
async def gateway(store: RunningStack) -> Gateway:
    found = Gateway.of(store)
    await found.store.objects().ensure_bucket()
    return found
