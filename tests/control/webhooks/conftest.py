"""What leaves the outbox, on a database of its own."""

from collections.abc import AsyncIterator

import pytest

from tests.control.outboxes import authority, outbox  # noqa: F401 - fixtures
from tests.outbox import Outbox
from tests.people import Person
from tests.receiver import Receiver


@pytest.fixture
async def quiet(outbox: Outbox) -> Outbox:  # noqa: F811 - the fixture
    """The outbox with everything out of the way that others left waiting."""
    await outbox.number_events()
    await outbox.run("update webhook_endpoints set enabled = false")
    outbox.seconds = 15.0
    return outbox


@pytest.fixture
async def receiver(outbox: Outbox) -> AsyncIterator[Receiver]:  # noqa: F811 - the fixture
    made = Receiver()
    async with made.open(outbox.authority.server_context(made.host)):
        yield made


@pytest.fixture
async def person(quiet: Outbox) -> Person:
    """Time moves on by days here: a session would end, a key lasts."""
    made = await quiet.person()
    made.session = await made.key(expires_in_days=365)
    return made
