"""Everything that `steadctl dev up` starts, once for all tests of delivery, and a git server beside it."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from stead.dev.certificate_authority import CertificateAuthority
from stead.dev.engines import ENGINES
from stead.dev.programs import STEAD_PROGRAMS
from stead.dev.running_stack import RunningStack, run_stack
from tests.git_server import GitServer
from tests.journeys.customer import Customer
from tests.journeys.visitor import Visitor
from tests.preloaded.processes import preloaded_programs

OWN_NETWORK = "127.0.0.0/8"
"""Where the git server of the tests is; an operator allows such a network by name."""
SYSTEM_TRUST = Path("/etc/ssl/certs/ca-certificates.crt")


@pytest.fixture(scope="package")
def scratch() -> Path:
    if os.geteuid() != 0:
        pytest.skip("builds need root")
    made = Path(tempfile.mkdtemp(prefix="stead-delivery-"))
    made.chmod(0o711)
    return made


@pytest.fixture(scope="package")
async def git_server(scratch: Path) -> AsyncIterator[GitServer]:
    """Its certificate is of an authority of the tests' own."""
    (scratch / "repositories").mkdir()
    server = GitServer(scratch / "repositories")
    authority = CertificateAuthority(scratch)
    _concatenate(scratch / "trust.pem", SYSTEM_TRUST, authority.root_file)
    async with server.open(authority.server_context(server.host)):
        yield server


@pytest.fixture(scope="package")
async def stack(scratch: Path, git_server: GitServer) -> AsyncIterator[RunningStack]:
    settings = {
        "STEAD_BUILD_NETWORKS": OWN_NETWORK,
        "STEAD_BUILD_TRUST": str(scratch / "trust.pem"),
        "STEAD_GIT_NETWORKS": OWN_NETWORK,
    }
    try:
        with preloaded_programs():
            async with run_stack(scratch / "data", [*ENGINES, *STEAD_PROGRAMS], settings=settings) as stack:
                yield stack
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


@pytest.fixture(scope="package")
async def customer(stack: RunningStack) -> AsyncIterator[Customer]:
    it = Customer(stack)
    async with it.api:
        yield it


@pytest.fixture(scope="package")
async def visitor(stack: RunningStack) -> Visitor:
    return await Visitor.of(stack)


def _concatenate(into: Path, *files: Path) -> None:
    into.write_bytes(b"".join(file.read_bytes() for file in files))
