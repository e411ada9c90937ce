"""A JetStream for the state of functions."""

import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stead.control.app import ControlPlane
from stead.control.engines.nats_state import StateStream
from stead.control.engines.nats_streams import ensure_streams
from stead.control.functions.state import FunctionState
from stead.control.functions.state_quota import StateQuota
from stead.dev.engines.nats import Nats as NatsServer
from stead.dev.running_stack import run_stack
from tests import teams
from tests.control.functions.keeping import Clock, Keeper
from tests.node.feed.feed_harness import worker_connection
from tests.people import Person


@pytest.fixture(scope="package")
async def stream() -> AsyncIterator[StateStream]:
    with tempfile.TemporaryDirectory(prefix="stead-state-") as scratch:
        async with run_stack(Path(scratch), [NatsServer]) as stack, worker_connection(stack) as worker:
            await ensure_streams(worker)
            yield StateStream(worker)


@pytest.fixture
def moving_clock() -> Clock:
    return Clock()


@pytest.fixture
async def keeper(plane: ControlPlane, person: Person, stream: StateStream, moving_clock: Clock) -> Keeper:
    async with plane.database.transaction() as tx:
        site = await teams.insert_site(tx, account=person.id)
        environment = await teams.environment_of(tx, site)
    return Keeper(FunctionState(stream, StateQuota(plane.database, stream), moving_clock), environment)
