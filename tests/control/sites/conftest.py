"""Fixtures for the tests of sites."""

import pytest

from stead.control.app import ControlPlane
from tests.control.site_driver import SiteDriver
from tests.enrolled_nodes import record_node


@pytest.fixture
def driver(plane: ControlPlane) -> SiteDriver:
    return SiteDriver(plane)


@pytest.fixture
async def node(plane: ControlPlane) -> str:
    """A reachable node with free capacity."""
    async with plane.database.transaction() as tx:
        await record_node(tx)
    return "node-1"


@pytest.fixture
async def other_region(plane: ControlPlane) -> str:
    """A second region with a node."""
    async with plane.database.transaction() as tx:
        await record_node(tx, "node-eu", "eu-west")
    return "eu-west"


@pytest.fixture(scope="session")
async def one_site_plan(plane: ControlPlane) -> str:
    """A plan that allows one site and any number of requests."""
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into plans values ('one_site', 'For tests', 1, 1000, 1000, 1000, 1000,"
            " 60000000, 60000000, 60000000, 60000000)"
        )
    return "one_site"
