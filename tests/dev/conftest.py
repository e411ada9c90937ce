"""Temporary directories that the user `postgres` can enter, and stacks that tests share."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from stead.dev.running_stack import RunningStack, run_stack
from tests.dev.up import Up, up


def _scratch() -> Iterator[Path]:
    path = Path(tempfile.mkdtemp(prefix="stead-test-"))
    path.chmod(0o711)
    try:
        yield path
    finally:
        shutil.rmtree(path)


scratch = pytest.fixture(_scratch)
shared_scratch = pytest.fixture(_scratch, scope="module")
scratch_of_package = pytest.fixture(_scratch, scope="package")


@pytest.fixture(scope="package")
def everything(scratch_of_package: Path) -> Iterator[Up]:
    """A complete stack, started by `steadctl dev up`."""
    with up(scratch_of_package) as running:
        running.until("curl -s")
        yield running


@pytest.fixture(scope="module")
async def stack(shared_scratch: Path) -> AsyncIterator[RunningStack]:
    """The core engines. Tests that stop engines must use a stack of their own."""
    async with run_stack(shared_scratch) as stack:
        yield stack
