"""Everything that `steadctl dev up` starts, once for all tests of delivery, and a git server beside it."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stead.dev.running import RunningStack, running
from stead.dev.stack import EVERY, PROGRAMS
from tests.delivery.customer import Customer
from tests.delivery.visitor import Visitor

OWN_NETWORK = "127.0.0.0/8"
"""Where the git server of the tests is; an operator allows such a network by name."""

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="builds need root")


@pytest.fixture(scope="session")
async def stack() -> AsyncIterator[RunningStack]:
    scratch = Path(tempfile.mkdtemp(prefix="stead-delivery-"))
    scratch.chmod(0o711)
    settings = {"STEAD_BUILD_NETWORKS": OWN_NETWORK, "STEAD_GIT_NETWORKS": OWN_NETWORK}
    try:
        async with running(scratch / "data", [*EVERY, *PROGRAMS], settings=settings) as stack:
            yield stack
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@pytest.fixture(scope="session")
async def customer(stack: RunningStack) -> AsyncIterator[Customer]:
    it = Customer(stack)
    async with it.api:
        yield it


@pytest.fixture(scope="session")
async def visitor(stack: RunningStack) -> Visitor:
    return await Visitor.of(stack)
