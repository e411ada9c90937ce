"""Fixtures for the tests of sites."""

import pytest

from stead.control.app import ControlPlane
from stead.control.nodes import service as nodes
from stead.protocol.commands import Heartbeat
from tests.control.site_driver import SiteDriver


@pytest.fixture
def driver(plane: ControlPlane) -> SiteDriver:
    return SiteDriver(plane)


@pytest.fixture
async def node(plane: ControlPlane) -> str:
    """A reachable node with free capacity."""
    async with plane.database.transaction() as tx:
        await nodes.record_heartbeat(tx, Heartbeat("node-1", "us-east", 100_000, 0, "0.1.0"))
    return "node-1"


@pytest.fixture(scope="session")
async def one_site_plan(plane: ControlPlane) -> str:
    """A plan that allows one site and any number of requests."""
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into plans values ('one_site', 'For tests', 1, 1000, 1000, 1000, 1000,"
            " 60000000, 60000000, 60000000, 60000000)"
        )
    return "one_site"
