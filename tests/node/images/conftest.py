"""Commands in a container whose root is a PHP image, with WordPress mounted, as sites run."""

import asyncio
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex

import pytest

from stead.node.containers.bundle import BindMount, ContainerProcess, configuration
from stead.node.containers.limits import ContainerLimits, first_uid
from stead.node.containers.runc import Runc, new_container, open_files_limit, remove_leftover_containers
from stead.node.images.image_store import Image, ImageStore
from stead.node.images.recipes import WORDPRESS_CORE, WP_CLI, WWW_UID
from stead.node.processes import Processes
from tests.node.builds.build_harness import CapturedOutput

_SLOT = 4000


@dataclass(frozen=True)
class Answer:
    code: int
    text: str


RunIn = Callable[..., Answer]


@pytest.fixture(scope="session")
def wordpress() -> Image:
    return ImageStore().ensure("wordpress")


@pytest.fixture
def run_in(wordpress: Image, tmp_path: Path) -> Iterator[RunIn]:
    """Call with an image and an argv, and perhaps with more mounts."""
    prefix, state = f"stead-images-{token_hex(4)}-", tmp_path / "runc"
    tmp_path.chmod(0o711)
    state.mkdir()

    def run(image: Image, *argv: str, mounts: tuple[BindMount, ...] = ()) -> Answer:
        output, container = CapturedOutput(), new_container(prefix, tmp_path)
        process = ContainerProcess(
            argv,
            {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/tmp"},  # noqa: S108
            mounts=(
                BindMount(wordpress.root / WORDPRESS_CORE[1:], WORDPRESS_CORE),
                BindMount(wordpress.root / WP_CLI[1:], WP_CLI),
                *mounts,
            ),
        )
        settings = configuration(
            process,
            root=image.root,
            hostname="site",
            cgroup=container.cgroup,
            first_uid=first_uid(_SLOT + os.getpid() % 1000),
            user=WWW_UID,
            limits=ContainerLimits(memory_mb=512, processes=64),
            open_files=open_files_limit(),
            machine=platform.machine(),
        )
        runc = Runc(Processes(token_hex(8)).run, state)
        return Answer(asyncio.run(runc.run(container, settings, output.chunk)), output.text)

    yield run
    remove_leftover_containers(state, prefix)
