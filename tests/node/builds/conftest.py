"""The image, which is made once per machine, and a harness for each module."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stead.node.builds.workspaces import remove_leftovers
from stead.node.images.image_store import Image, ImageStore
from tests.node.builds.build_harness import BuildHarness
from tests.node.builds.servers import git_server, store


@pytest.fixture(scope="session")
def image() -> Image:
    return ImageStore().ensure("static")


@pytest.fixture(scope="module")
def bench(image: Image) -> Iterator[BuildHarness]:
    path = Path(tempfile.mkdtemp(prefix="stead-builds-"))
    path.chmod(0o711)
    (path / "data").mkdir()
    (path / "git").mkdir()
    try:
        with store() as layers, git_server(path / "git") as repositories:
            yield BuildHarness(path / "data", layers, repositories)
    finally:
        # A failed test may have left a build behind.
        remove_leftovers(path / "data" / "builds")
        shutil.rmtree(path)
