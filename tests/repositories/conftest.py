"""One object store and one gateway for all tests of this package; every test has sites of its own."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stead.control.app import ControlPlane
from stead.dev.engines.seaweedfs import SeaweedFS
from stead.dev.programs import Repositories
from stead.dev.running_stack import RunningStack, run_stack
from tests.people import Person
from tests.repositories.maintained_site import MaintainedSite, Worker
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


@pytest.fixture(scope="session")
async def second_store() -> AsyncIterator[RunningStack]:
    with tempfile.TemporaryDirectory(prefix="stead-second-") as data:
        async with run_stack(Path(data), [SeaweedFS]) as stack:
            yield stack


@pytest.fixture
async def worker(plane: ControlPlane, gateway: Gateway, second_store: RunningStack) -> Worker:
    second = Gateway.of(second_store).store.objects()
    await second.ensure_bucket()
    return Worker(plane, gateway, second)


@pytest.fixture
async def site(worker: Worker, person: Person, tmp_path: Path) -> MaintainedSite:
    return await worker.new_site(person, tmp_path / "site")
