"""Everything that `steadctl dev up` starts, with a git server on loopback that its builds and functions may
reach."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from stead.dev.certificate_authority import CertificateAuthority
from stead.dev.running_stack import RunningStack, run_stack
from stead.dev.stack import ALL_PROGRAMS
from tests.git_server import GitServer

OWN_NETWORK = "127.0.0.0/8"
"""Where the git server is. An operator allows such a network, and the port in it, by name."""
SYSTEM_TRUST = Path("/etc/ssl/certs/ca-certificates.crt")


@dataclass(frozen=True)
class BuildingStack:
    stack: RunningStack
    git_server: GitServer


@asynccontextmanager
async def building_stack(**settings: str) -> AsyncIterator[BuildingStack]:
    if os.geteuid() != 0:
        pytest.skip("builds need root")
    scratch = await asyncio.to_thread(_make_scratch)
    server = GitServer(scratch / "repositories")
    authority = CertificateAuthority(scratch)
    trust = scratch / "trust.pem"
    _concatenate(trust, SYSTEM_TRUST, authority.root_file)
    needed = {
        "STEAD_BUILD_NETWORKS": f"{OWN_NETWORK}:{server.port}",
        "STEAD_BUILD_TRUST": str(trust),
        "STEAD_FUNCTIONS_NETWORKS": f"{OWN_NETWORK}:{server.port}",
        "STEAD_GIT_NETWORKS": OWN_NETWORK,
        "STEAD_GIT_PORTS": str(server.port),
        # The control plane trusts the server, too. Tests report pushes themselves.
        "SSL_CERT_FILE": str(trust),
        # Journeys wait for what nodes report once a minute.
        "STEAD_VISITS_SECONDS": "5",
        "STEAD_GIT_POLL_SECONDS": "86400",
    }
    try:
        async with (
            server.open(authority.server_context(server.host)),
            run_stack(scratch / "data", ALL_PROGRAMS, settings=needed | settings) as stack,
        ):
            yield BuildingStack(stack, server)
    finally:
        await asyncio.to_thread(shutil.rmtree, scratch, ignore_errors=True)


def _make_scratch() -> Path:
    made = Path(tempfile.mkdtemp(prefix="stead-builds-"))
    # PostgreSQL runs as another user, who must be able to enter.
    made.chmod(0o711)
    (made / "repositories").mkdir()
    return made


def _concatenate(into: Path, *files: Path) -> None:
    into.write_bytes(b"".join(file.read_bytes() for file in files))
