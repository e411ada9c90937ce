"""One host of functions for all tests."""

import os
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.node.functions.hosting import Hosting, hosting


@pytest.fixture(scope="package")
async def host() -> AsyncIterator[Hosting]:
    if os.geteuid() != 0:
        pytest.skip("containers need root")
    async with hosting(Path(tempfile.mkdtemp(prefix="stead-fn-"))) as started:
        yield started
