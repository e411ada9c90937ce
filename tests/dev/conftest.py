"""Temporary directories that the user `postgres` can enter, and stacks that tests share."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
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


class SharedStack:
    """A complete stack, started by `steadctl dev up` when a test needs it and it does not run."""

    def __init__(self, data: Path) -> None:
        self._data, self._open = data, ExitStack()
        self._running: Up | None = None

    def ensure_running(self) -> Up:
        if self._running is None or self._running.process.poll() is not None:
            self.stop()
            self._running = self._open.enter_context(up(self._data))
            self._running.until("curl -s")
        return self._running

    def stop(self) -> None:
        self._open.close()


@pytest.fixture(scope="package")
def shared_stack(scratch_of_package: Path) -> Iterator[SharedStack]:
    shared = SharedStack(scratch_of_package)
    try:
        yield shared
    finally:
        shared.stop()


@pytest.fixture
def everything(shared_stack: SharedStack) -> Up:
    """The stack that the tests of this package share. A test may stop it."""
    return shared_stack.ensure_running()


@pytest.fixture(scope="module")
async def stack(shared_scratch: Path) -> AsyncIterator[RunningStack]:
    """The core engines. Tests that stop engines must use a stack of their own."""
    async with run_stack(shared_scratch) as stack:
        yield stack
