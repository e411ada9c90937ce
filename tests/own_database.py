"""Fixtures for a test file that reads whole tables: a control plane on a database that only this file fills.

The shared database holds the rows of every test that ran before, so the cost of such a test would grow with
the test suite. A file assigns these fixtures to names of its own to replace the shared ones.
"""

from collections.abc import AsyncIterator

import httpx
import pytest
from msgspec.structs import replace

from stead.control.app import ControlPlane
from stead.control.insights.tables import create_tables
from stead.control.settings import Settings
from stead.shared.clock import MovableClock
from tests.client import Client
from tests.conftest import UNLIMITED, NewPerson
from tests.people import Person, make_person
from tests.teams import spare_database


@pytest.fixture(scope="module")
async def settings(
    settings: Settings, worker_id: str, request: pytest.FixtureRequest
) -> AsyncIterator[Settings]:
    name = request.module.__name__.rpartition(".")[2]
    async with spare_database(f"stead_{name}_{worker_id}") as url:
        yield replace(settings, database_url=url)


@pytest.fixture(scope="module")
async def plane(settings: Settings, clock: MovableClock, answering: None) -> AsyncIterator[ControlPlane]:
    plane = ControlPlane(settings, clock=clock)
    async with plane.running():
        await create_tables(plane.clickhouse)
        async with plane.database.transaction() as tx:
            await tx.run(UNLIMITED)
        yield plane


@pytest.fixture(scope="module")
def anonymous(plane: ControlPlane) -> Client:
    return Client(transport=httpx.ASGITransport(plane), base_url="http://stead.test")


@pytest.fixture(scope="module")
def new_person(plane: ControlPlane, anonymous: Client) -> NewPerson:
    async def make(**wanted: str) -> Person:
        return await make_person(plane, anonymous, **wanted)

    return make
