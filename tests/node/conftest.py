"""Scratch directories that the user `www-data` can enter, and nodes on a real NATS."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from stead.dev.engines.nats import Nats
from stead.dev.running_stack import RunningStack, run_stack
from stead.protocol.subjects import Program
from tests.node.harness import NodeHarness, connected, make_streams, start_harness


def _scratch() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="stead-test-"))
    path.chmod(0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path)


scratch = pytest.fixture(_scratch)
shared_scratch = pytest.fixture(_scratch, scope="module")


@pytest.fixture(scope="module")
async def nats_stack(shared_scratch: Path) -> AsyncIterator[RunningStack]:
    async with run_stack(shared_scratch, [Nats]) as stack:
        async with connected(stack, Program.OPERATOR) as operator:
            await make_streams(operator)
        yield stack


@pytest.fixture
async def here(nats_stack: RunningStack) -> AsyncIterator[NodeHarness]:
    """A new node on the NATS of the module."""
    async with connected(nats_stack, Program.OPERATOR) as operator, start_harness(nats_stack, operator) as it:
        yield it


@pytest.fixture
async def alone(scratch: Path) -> AsyncIterator[tuple[RunningStack, NodeHarness]]:
    """A node on its own NATS, which a test may stop."""
    async with run_stack(scratch, [Nats]) as stack, connected(stack, Program.OPERATOR) as operator:
        await make_streams(operator)
        async with start_harness(stack, operator) as it:
            yield stack, it
