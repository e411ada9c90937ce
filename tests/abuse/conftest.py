import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from stead.dev.engines.nats import Nats
from stead.dev.engines.postgres import Postgres
from stead.dev.engines.redis import Redis
from stead.dev.running_stack import run_stack
from tests.abuse.tenants import Tenant, new_tenant
from tests.delivery.delivery import Delivery
from tests.edge.edge_harness import EdgeHarness
from tests.edge.edge_harness import start_edge as running_edge
from tests.faults.jobs.harness import everything
from tests.faults.world import World


@pytest.fixture(scope="module")
async def edge() -> AsyncIterator[EdgeHarness]:
    async with running_edge() as started:
        yield started


@pytest.fixture(scope="session")
async def world() -> AsyncIterator[World]:
    """Engines for API processes that are attacked."""
    scratch = _create_scratch()
    try:
        async with run_stack(scratch, [Postgres, Redis, Nats]) as stack, AsyncExitStack() as ending:
            world = World(stack, ending)
            await world.prepare()
            yield world
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _create_scratch() -> Path:
    path = Path(tempfile.mkdtemp(prefix="stead-abuse-"))
    # PostgreSQL may run as another user, who must be able to enter the directory.
    path.chmod(0o711)
    return path


@pytest.fixture(scope="module")
async def delivery() -> AsyncIterator[Delivery]:
    """A whole installation. Its first account is the neighbour of the attacker."""
    async with everything() as harness:
        it = Delivery(harness)
        await it.objects.ensure_bucket()
        yield it
        await it.visitor.aclose()


@pytest.fixture
async def attacker(delivery: Delivery) -> AsyncIterator[Tenant]:
    async with new_tenant(delivery, "small") as tenant:
        yield tenant
