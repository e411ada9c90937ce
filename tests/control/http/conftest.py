"""A plan whose buckets a test can empty."""

import pytest

from stead.control.app import ControlPlane
from tests.control.http.principals import TIGHT


@pytest.fixture(scope="session")
async def tight(plane: ControlPlane) -> str:
    """The name of that plan; its figures are those of `TIGHT`."""
    async with plane.database.transaction() as tx:
        await tx.run(
            "insert into plans values ('tight', 'For tests of limits', 1, 1, 1, 1, 1, $1, $2, $3, $4)",
            TIGHT.read,
            TIGHT.write,
            TIGHT.create,
            TIGHT.ceiling,
        )
    return "tight"
