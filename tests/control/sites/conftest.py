"""What the tests of sites start from."""

import pytest

from stead.control.app import ControlPlane
from stead.control.nodes import service as nodes
from stead.protocol.commands import Heartbeat
from tests.control.sites.estate import Estate


@pytest.fixture
def estate(plane: ControlPlane) -> Estate:
    return Estate(plane)


@pytest.fixture
async def node(plane: ControlPlane) -> str:
    """A node with room, heard just now."""
    async with plane.database.transaction() as tx:
        await nodes.record_heartbeat(tx, Heartbeat("node-1", "us-east", 100_000, 0, "0.1.0"))
    return "node-1"


@pytest.fixture(scope="session")
async def narrow(plane: ControlPlane) -> str:
    """A plan that allows one site and as many requests as one likes."""
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into plans values ('narrow', 'For tests', 1, 1000, 1000, 1000, 1000,"
            " 60000000, 60000000, 60000000, 60000000)"
        )
    return "narrow"
