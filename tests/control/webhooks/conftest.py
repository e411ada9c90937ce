"""Fixtures for tests of webhooks, on a database of their own."""

from collections.abc import AsyncIterator

import pytest

from tests.control.outbox_fixtures import authority, outbox  # noqa: F401 - fixtures
from tests.outbox import Outbox
from tests.people import Person
from tests.receiver import Receiver


@pytest.fixture
async def clean_outbox(outbox: Outbox) -> Outbox:  # noqa: F811 - the fixture
    """The outbox without events, endpoints or settings of earlier tests."""
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
async def person(clean_outbox: Outbox) -> Person:
    """A person with an API key. These tests move the clock by days, and a session would expire."""
    made = await clean_outbox.person()
    made.session = await made.key(expires_in_days=365)
    return made
