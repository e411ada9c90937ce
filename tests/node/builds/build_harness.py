"""A builder with small limits on a scratch directory, and checks for after a build."""

import asyncio
import functools
import io
import subprocess
import tarfile
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import psutil
import pytest
import zstandard

from stead.node.builds.assembly import static_builder
from stead.node.builds.builder import StaticBuilder
from stead.node.builds.workspaces import container_prefix
from stead.node.containers import cgroups
from stead.node.containers.disks import mounted_below
from stead.node.disk_space import DiskSpace
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.processes import Processes, StreamName
from stead.node.settings import Settings
from stead.protocol.work.builds import ArchiveSource, Build, BuildResult, GitSource
from stead.shared.ids import new_id
from tests.node.builds.servers import GitServer, Store
from tests.patience import Patience

LOOPS_SECONDS = 10.0
"""The kernel removes a loop device when nobody has it open, such as a test that lists all of them."""


@functools.cache
def machine_registry() -> str:
    said = subprocess.run(["npm", "config", "get", "registry"], capture_output=True, text=True, check=True)  # noqa: S607
    return said.stdout.strip()


def _list_loops() -> str:
    return subprocess.run(["/usr/sbin/losetup", "-a"], capture_output=True, text=True, check=True).stdout


@dataclass
class CapturedOutput:
    lines: list[str] = field(default_factory=list)

    async def say(self, text: str) -> None:
        self.lines.append(text)

    async def chunk(self, _: StreamName, data: bytes) -> None:
        self.lines += data.decode().splitlines()

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    async def until(self, text: str, bound: float = 60.0) -> None:
        patience = Patience(bound)
        while text not in self.text:
            assert not patience.is_over, self.text
            await asyncio.sleep(0.05)


@dataclass
class BuildHarness:
    """A node's builder, a store for layers and a git server."""

    data: Path
    store: Store
    repositories: GitServer

    @property
    def home(self) -> Path:
        return self.data / "builds"

    def settings(self, **changed: str | float) -> Settings:
        given: dict[str, str | float] = {
            "node_id": "node-a",
            "node_data": str(self.data),
            "nats_url": "",
            "nats_user": "",
            "nats_password": "",
            "edge_address": "127.0.0.1:1",
            "npm_registry": machine_registry(),
            "build_networks": f"127.0.0.0/8:{self.repositories.port},127.0.0.0/8:{self.store.port}",
            "build_memory_mb": 512,
            "build_disk_mb": 256,
            "build_cache_mb": 128,
            "build_seconds": 120,
            # Builds get more CPU than by default, because the tests wait for them.
            "build_cpu_shares": 1024,
        }
        return Settings(**(given | changed))  # type: ignore[arg-type]

    def builder(self, **changed: str | float) -> StaticBuilder:
        settings = self.settings(**changed)
        space = DiskSpace(self.data, settings.node_min_free_mb)
        return static_builder(settings, Processes(token_hex(8)).run, self.home, space)

    def git(self, name: str, ref: str = "main", commit: str = "", key: str = "") -> GitSource:
        return GitSource(self.repositories.url(name), ref, commit, key)

    def upload(self, files: Mapping[str, str | bytes]) -> ArchiveSource:
        name = f"uploads/{token_hex(8)}"
        self.store.files[name] = make_tar(files)
        return ArchiveSource(self.store.url(name), ours=True)

    def wanted(self, source: GitSource | ArchiveSource, **variables: str) -> Build:
        layer = f"layers/{token_hex(8)}"
        return Build("static", source, self.store.url(layer), tuple(variables.items()))

    def layer(self, wanted: Build) -> dict[str, bytes]:
        """The files of the layer that the build has uploaded."""
        name = wanted.layer_url.partition(f":{self.store.port}/")[2].partition("?")[0]
        packed = zstandard.ZstdDecompressor().stream_reader(self.store.files[name]).read()
        with tarfile.open(fileobj=io.BytesIO(packed)) as members:
            return {member.name: file.read() for member in members if (file := members.extractfile(member))}

    async def build(
        self,
        wanted: Build,
        said: CapturedOutput | None = None,
        builder: StaticBuilder | None = None,
        site: str = "",
        environment: str = "",
    ) -> BuildResult:
        try:
            return await (builder or self.builder()).build(
                new_assignment(said or CapturedOutput(), site, environment), wanted
            )
        finally:
            self.assert_nothing_is_left()

    async def refused(
        self,
        wanted: Build,
        said: CapturedOutput | None = None,
        builder: StaticBuilder | None = None,
        site: str = "",
        *,
        code: str = "build.failed",
    ) -> str:
        """The reason that the customer reads."""
        with pytest.raises(Refusal) as refusal:
            await self.build(wanted, said, builder, site)
        assert refusal.value.code == code
        return refusal.value.reason

    def assert_nothing_is_left(self) -> None:
        assert cgroups.find(container_prefix(self.home)) == set()
        assert list(mounted_below(self.home)) == []
        assert list((self.home / "workspaces").glob("*")) == []
        assert list((self.home / "runc").glob("*")) == []
        patience = Patience(LOOPS_SECONDS)
        while str(self.home) in _list_loops():
            assert not patience.is_over, "a loop device is left"
            time.sleep(0.05)


def processes_with_argument(argument: str) -> list[list[str]]:
    """The command lines of all processes of the machine that have the argument."""
    every = [it.info["cmdline"] or [] for it in psutil.process_iter(["cmdline"])]
    return [words for words in every if argument in words]


def environment_of(settings: Settings) -> dict[str, str]:
    """The settings of builds, as environment variables."""
    names = [
        name for name in Settings.__struct_fields__ if name.startswith("build_") or name == "npm_registry"
    ]
    return {f"STEAD_{name.upper()}": str(getattr(settings, name)) for name in names}


def new_assignment(said: CapturedOutput, site: str = "", environment: str = "") -> Assignment:
    """A new site, or always the same environment of the site."""
    environment = environment or (f"env_of_{site}" if site else new_id("env"))
    return Assignment(new_id("job"), site or new_id("site"), environment, said)


def make_tar(files: Mapping[str, str | bytes]) -> bytes:
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w:gz") as archive:
        for name, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return into.getvalue()
