"""A small server in a container of the image that builds use."""

import asyncio
import itertools
import platform
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stead.node.containers import cgroups
from stead.node.containers.bundle import ContainerProcess, configuration
from stead.node.containers.limits import ContainerLimits, first_uid
from stead.node.containers.runc import open_files_limit
from stead.node.containers.services import ServiceContainer, Services
from stead.node.hosting.environment import HostedEnvironment
from stead.node.hosting.wake_budget import Needs, WakeBudget
from stead.node.images.image_store import ImageStore
from tests.patience import time_limit

SERVER = """
const http = require("http");
const counted = require("crypto").randomUUID();
const server = http.createServer((request, response) => {
  if (request.url === "/crash") process.exit(1);
  const wait = request.url === "/slow" ? 1500 : 0;
  setTimeout(() => response.end(counted), wait);
}).listen({ fd: 3 });
process.on("SIGQUIT", () => server.close(() => process.exit(0)));
"""
_SLOTS = itertools.count(5000)


@dataclass
class ServerPlan:
    """`program` is what the container runs."""

    directory: Path
    image: Path
    program: str = SERVER
    slot: int = field(default_factory=lambda: next(_SLOTS))
    prepared: int = 0
    tenant: str = "acct_1"
    needs: Needs = field(default_factory=lambda: Needs(memory_mb=100, connections=10))

    quiet_processes = 2
    workers = 2
    busy_response = b"HTTP/1.0 503 Service Unavailable\r\n\r\nbusy"

    @property
    def container(self) -> ServiceContainer:
        return ServiceContainer(f"stead-test-{self.directory.name}", self.directory / "bundle", self.log)

    @property
    def log(self) -> Path:
        return self.directory / "log"

    @property
    def socket(self) -> Path:
        return self.directory / "server.sock"

    async def prepare(self) -> Mapping[str, object]:
        self.prepared += 1
        process = ContainerProcess(
            ("/usr/bin/tini", "--", "/usr/local/bin/node", "-e", self.program),
            {"PATH": "/usr/local/bin:/usr/bin:/bin"},
        )
        return configuration(
            process,
            root=self.image,
            hostname="test",
            cgroup=self.container.cgroup,
            first_uid=first_uid(self.slot),
            user=1000,
            limits=ContainerLimits(memory_mb=256, processes=64),
            open_files=open_files_limit(),
            machine=platform.machine(),
        )

    async def get(self, path: str = "/") -> str:
        """The body of the response, which identifies the process that answered."""
        async with time_limit(60):
            reader, writer = await asyncio.open_unix_connection(self.socket)
            writer.write(f"GET {path} HTTP/1.0\r\nHost: x\r\n\r\n".encode())
            response = await reader.read()
            writer.close()
        if not response:
            raise ConnectionError("the connection was closed without a response")
        return response.partition(b"\r\n\r\n")[2].decode()


def new_directory() -> Path:
    """A short path, because of its socket, which the users of the container may enter."""
    directory = Path(tempfile.mkdtemp(prefix="host-"))
    directory.chmod(0o711)
    return directory


@pytest.fixture
def plan() -> Iterator[ServerPlan]:
    directory = new_directory()
    yield ServerPlan(directory, ImageStore().find("static").root)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def services(plan: ServerPlan) -> Services:
    return Services(plan.directory / "runc")


@pytest.fixture
async def hosted(plan: ServerPlan, services: Services) -> AsyncIterator[HostedEnvironment]:
    made = HostedEnvironment(plan, services, WakeBudget())
    await made.open()
    yield made
    await made.remove()
    await made.close()
    assert plan.container.cgroup not in cgroups.find("stead-test-")
