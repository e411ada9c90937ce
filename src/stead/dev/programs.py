"""Stead's own programs, which a stack supervises like its engines."""

import importlib.metadata
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import ClassVar

import msgspec

from stead.dev import probes
from stead.dev.errors import DevError
from stead.dev.local_node import NODE_PROGRAM
from stead.dev.packages import Packages
from stead.dev.secrets import FirstAccount, Generator, random_key
from stead.dev.subprocesses import run
from stead.dev.supervised_program import (
    LOOPBACK,
    Instance,
    Ports,
    SupervisedProgram,
    clean_environment,
)

STEADCTL = (sys.executable, "-m", "stead.steadctl")
FIRST_ACCOUNT = (
    *("--email", "you@stead.localhost", "--name", "First account"),
    *("--plan", "business", "--with-key"),
)

SaveAccount = Callable[[FirstAccount], None]
Check = Callable[[], Awaitable[bool]]


async def steadctl(settings: Mapping[str, str], *words: str) -> str:
    """Runs a command with these settings, and returns its output."""
    completed = await run([*STEADCTL, *words], env=clean_environment(settings))
    if completed.code != 0:
        reason = completed.errors.strip() or completed.output.strip()
        raise DevError(f"steadctl {' '.join(words)} failed: {reason}")
    return completed.output


class SteadProgram(SupervisedProgram):
    """Started as `steadctl NAME` with its settings as environment variables."""

    def __init__(self, instance: Instance, settings: Mapping[str, str]) -> None:
        super().__init__(instance)
        self._settings = settings

    def find_executable(self) -> Path:
        return Path(sys.executable)

    async def read_version(self) -> str:
        return importlib.metadata.version("stead")

    def command(self) -> list[str]:
        return [*STEADCTL, self.name]

    def process_environment(self) -> dict[str, str]:
        return dict(self._settings)


class Api(SteadProgram):
    name: ClassVar[str] = "api"
    ports: ClassVar[Ports] = Ports(("api", "api_metrics"))
    secrets: ClassVar[Mapping[str, Generator]] = {"sealing_key": random_key, "edge_master_key": random_key}

    def __init__(self, instance: Instance, settings: Mapping[str, str], save: SaveAccount) -> None:
        super().__init__(instance, settings)
        self._save_account = save

    @property
    def url(self) -> str:
        return f"http://{LOOPBACK}:{self.port}"

    def shell_variables(self) -> dict[str, str]:
        account = self.instance.secrets.account
        key = {} if account is None else {"STEAD_API_KEY": account.api_key}
        return key | {"STEAD_BASE_URL": self.url}

    async def prepare(self) -> None:
        """Migrates the database and creates the first account."""
        await super().prepare()
        await self._steadctl("migrate")
        if self.instance.secrets.account is None:
            output = await self._steadctl("accounts", "create", *FIRST_ACCOUNT)
            self._save_account(msgspec.json.decode(output, type=FirstAccount))

    async def _steadctl(self, *words: str) -> str:
        return await steadctl(self.process_environment(), *words)

    async def is_ready(self) -> bool:
        return await probes.http_ok(self.port, "/readyz")


class Worker(SteadProgram):
    name: ClassVar[str] = "worker"
    ports: ClassVar[Ports] = Ports(("worker_health",))
    # The API migrates the database.
    depends_on: ClassVar[tuple[str, ...]] = ("api",)

    def __init__(self, instance: Instance, settings: Mapping[str, str], has_streams: Check) -> None:
        super().__init__(instance, settings)
        self._has_streams = has_streams

    async def is_ready(self) -> bool:
        """A worker first creates the streams over which it sends commands to nodes."""
        return await self._has_streams()


class NodeAgent(SteadProgram):
    name: ClassVar[str] = NODE_PROGRAM
    ports: ClassVar[Ports] = Ports(("node_health",))
    # The API migrates the database, in which the node is enrolled.
    depends_on: ClassVar[tuple[str, ...]] = ("api",)
    packages: ClassVar[Packages] = Packages(
        debian=(
            *("runc", "mmdebstrap", "e2fsprogs", "git", "openssh-client"),
            *("openssl", "ca-certificates", "restic", "clamav-daemon"),
        )
    )

    def __init__(
        self,
        instance: Instance,
        add_node: Callable[[], Awaitable[Mapping[str, str]]],
        sends_heartbeats: Check,
    ) -> None:
        super().__init__(instance, {})
        self._add_node, self._sends_heartbeats = add_node, sends_heartbeats

    async def prepare(self) -> None:
        await super().prepare()
        self._settings = await self._add_node()

    async def is_ready(self) -> bool:
        return await self._sends_heartbeats()


class Repositories(SteadProgram):
    name: ClassVar[str] = "repositories"
    ports: ClassVar[Ports] = Ports(("repositories", "repositories_metrics"))
    secrets: ClassVar[Mapping[str, Generator]] = {"repository_key": random_key}
    # Nodes and workers use restic; this program has their data.
    packages: ClassVar[Packages] = Packages(debian=("restic",))
    depends_on: ClassVar[tuple[str, ...]] = ("seaweedfs",)

    async def is_ready(self) -> bool:
        return await probes.http_ok(self.instance.ports["repositories_metrics"], "/readyz")


class SshGateway(SteadProgram):
    name: ClassVar[str] = "ssh"
    ports: ClassVar[Ports] = Ports(("ssh",))
    # Sessions are started by the agent.
    depends_on: ClassVar[tuple[str, ...]] = (NODE_PROGRAM,)

    async def is_ready(self) -> bool:
        return (await probes.read_line(self.port, b"")).startswith(b"SSH-2.0-")


class FunctionsHost(SteadProgram):
    name: ClassVar[str] = "functions"
    # It serves what the agent has written down.
    depends_on: ClassVar[tuple[str, ...]] = (NODE_PROGRAM,)

    def __init__(
        self, instance: Instance, get_settings: Callable[[], Awaitable[Mapping[str, str]]], data: Path
    ) -> None:
        super().__init__(instance, {})
        self._get_settings, self._data = get_settings, data

    async def prepare(self) -> None:
        await super().prepare()
        self._settings = await self._get_settings()

    async def is_ready(self) -> bool:
        """Without root it only says that there are no functions."""
        return os.geteuid() != 0 or await probes.accepts_unix(self._data / "functions" / "control.sock")


STEAD_PROGRAMS: tuple[type[SteadProgram], ...] = (Api, Worker, Repositories, NodeAgent)
"""What every stack needs that runs sites."""
ACCESS_PROGRAMS: tuple[type[SteadProgram], ...] = (SshGateway, FunctionsHost)
"""What people enter sites with, and what runs functions."""
