"""The sandbox: a SIMULATION, the only one in Stead. It serves test keys: nothing runs and no visitor is ever
answered. It keeps what it was asked for as small JSON files, says so in the job's output, takes as long as it
is told and fails where it is told to, and otherwise passes the same contract as the drivers that do the work.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stead.artifacts.packing import Packed, pack
from stead.node import transfer
from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.node.drivers.releases import fetched, verified
from stead.node.drivers.runtime_driver import RuntimeDriver
from stead.node.processes import Run
from stead.node.uninterrupted import in_thread
from stead.protocol.work import (
    Build,
    BuildResult,
    EnsureEnvironment,
    EnsureRelease,
    EnsureRoute,
    GitSource,
    NodeWork,
    Probe,
    RemoveEnvironment,
    RemoveRoute,
    RestartEnvironment,
    tag_of,
)
from stead.shared.runtimes import RUNTIMES

PRETENCE = """<!doctype html>
<title>A simulation</title>
<p>Nothing was built: the sandbox packed this page for {what}.</p>
"""


class Environment(msgspec.Struct, frozen=True):
    site: str


class Host(msgspec.Struct, frozen=True):
    environment: str


@dataclass(frozen=True)
class Pace:
    seconds: float = 0.0
    fail_at: frozenset[str] = frozenset()


def wait_argv(seconds: float) -> list[str]:
    return ["/bin/sleep", f"{seconds:g}"]


class Sandbox:
    """State and temper, shared by runtime, edge and builder: `environments/<id>`, `hosts/<host>` and
    `releases/<name>`, which says of an artifact only that it was found right."""

    def __init__(self, data: Path, run: Run, pace: Pace) -> None:
        self._home, self._run, self._pace = data / "sandbox", run, pace
        self.environments, self.hosts = self._home / "environments", self._home / "hosts"
        self.releases, self.making = self._home / "releases", self._home / "making"
        for directory in (self.environments, self.hosts, self.releases, self.making):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)

    async def pretend(self, kind: type[NodeWork], task: Assignment, hosts: Sequence[str] = ()) -> None:
        """What every piece of work goes through before its effect is noted."""
        tag = tag_of(kind)
        await task.output.say(f"sandbox: simulated {tag} of {task.environment}")
        if self._told_to_fail(tag, task, hosts):
            raise Refusal("sandbox.told_to_fail", f"the sandbox was told to fail at {tag}")
        if self._pace.seconds > 0:
            whose = {"STEAD_JOB": task.job}
            await self._run(wait_argv(self._pace.seconds), task.output.chunk, environment=whose)

    def _told_to_fail(self, tag: str, task: Assignment, hosts: Sequence[str]) -> bool:
        label = f"fail-at-{tag.replace('_', '-')}"
        known = {*hosts, *self.hosts_of(task.environment)}
        return (
            tag in self._pace.fail_at
            or any(label in host.split(".") for host in known)
            or not {tag, f"{tag} {task.job}"}.isdisjoint(self._orders_to_fail())
        )

    def _orders_to_fail(self) -> set[str]:
        """Lines of the file `fail-at`: a kind of work, or one and the job it must fail for."""
        try:
            return {" ".join(line.split()) for line in (self._home / "fail-at").read_text().splitlines()}
        except FileNotFoundError:
            return set()

    def hosts_of(self, environment: str) -> set[str]:
        return {host for host in layout.listed(self.hosts) if self.owner(host) == environment}

    def owner(self, host: str) -> str | None:
        path = self.hosts / host
        try:
            return msgspec.json.decode(path.read_bytes(), type=Host).environment
        except FileNotFoundError:
            return None

    def has(self, environment: str) -> bool:
        return (self.environments / environment).exists()


class SandboxRuntime(RuntimeDriver):
    runtimes = RUNTIMES

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    async def ensure_environment(self, task: Assignment) -> None:
        path = self._path(task)
        await self._sandbox.pretend(EnsureEnvironment, task)
        if not path.exists():
            layout.write(path, msgspec.json.encode(Environment(task.site)), mode=0o600)

    async def remove_environment(self, task: Assignment) -> None:
        path = self._path(task)
        await self._sandbox.pretend(RemoveEnvironment, task)
        path.unlink(missing_ok=True)

    async def restart_environment(self, task: Assignment) -> None:
        path = self._path(task)
        await self._sandbox.pretend(RestartEnvironment, task)
        if not path.exists():
            raise Refusal("environment.not_found", "the environment is not on this node")

    async def ensure_release(self, task: Assignment, wanted: EnsureRelease) -> None:
        """What it would show is fetched and looked at, and then thrown away."""
        path = self._path(task)
        await self._sandbox.pretend(EnsureRelease, task)
        if not path.exists():
            raise Refusal("environment.not_found", "the environment is not on this node")
        name = layout.release(wanted.digest)
        (layer,), address = verified(wanted), wanted.layers[0].url
        if not (self._sandbox.releases / name).exists():
            async with fetched(layer, address, self._sandbox.making):
                layout.write(self._sandbox.releases / name, b"", mode=0o600)

    async def tidy(self) -> None:
        """What there is of a release takes no room."""

    async def list_environments(self) -> Collection[str]:
        return layout.listed(self._sandbox.environments)

    def _path(self, task: Assignment) -> Path:
        return self._sandbox.environments / layout.identifier(task.environment)


class SandboxEdge(Driver):
    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._changing = asyncio.Lock()

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(EnsureRoute, self._ensure_route),
            Handler(RemoveRoute, self._remove_route),
            Handler(Probe, self.probe),
        ]

    async def _ensure_route(self, task: Assignment, work: EnsureRoute) -> None:
        await self.ensure_route(task, work.hosts)

    async def _remove_route(self, task: Assignment, _: RemoveRoute) -> None:
        await self.remove_route(task)

    async def ensure_route(self, task: Assignment, hosts: Sequence[str]) -> None:
        wanted = {layout.host(host) for host in hosts}
        environment = layout.identifier(task.environment)
        await self._sandbox.pretend(EnsureRoute, task, hosts)
        async with self._changing:
            for host in sorted(wanted):
                if self._sandbox.owner(host) not in {None, environment}:
                    raise Refusal("route.taken", f"{host} is answered by another environment")
            for host in wanted:
                layout.write(self._sandbox.hosts / host, msgspec.json.encode(Host(environment)), mode=0o600)
            self._drop(self._sandbox.hosts_of(environment) - wanted)

    async def remove_route(self, task: Assignment) -> None:
        environment = layout.identifier(task.environment)
        await self._sandbox.pretend(RemoveRoute, task)
        async with self._changing:
            self._drop(self._sandbox.hosts_of(environment))

    async def probe(self, task: Assignment, wanted: Probe) -> None:
        host, path, status = layout.host(wanted.host), wanted.path, wanted.status
        await self._sandbox.pretend(Probe, task, [host])
        owner = self._sandbox.owner(host)
        if owner is None or not self._sandbox.has(owner):
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was answered 404 (simulated)")
        if wanted.release and not (self._sandbox.releases / layout.release(wanted.release)).exists():
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was answered 503 (simulated)")
        await task.output.say(f"probe: GET {path} of {host} would be answered {status or 200} (simulated)")

    def _drop(self, hosts: Collection[str]) -> None:
        for host in hosts:
            (self._sandbox.hosts / host).unlink(missing_ok=True)


class SandboxBuilder(Driver):
    """Nothing is fetched and nothing is run: a page that says so is packed as a real builder packs."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [Handler(Build, self.build, ("static",))]

    async def build(self, task: Assignment, wanted: Build) -> BuildResult:
        await self._sandbox.pretend(Build, task)
        source = wanted.source
        told = BuildResult("", 0, "", 0, 0)
        if isinstance(source, GitSource):
            commit = hashlib.sha1(f"{source.url} {source.ref} {task.job}".encode(), usedforsecurity=False)
            told = msgspec.structs.replace(
                told,
                commit=source.commit or commit.hexdigest(),
                ref=source.ref,
                author="Sandbox",
                message="A simulated commit.",
            )
        with tempfile.TemporaryDirectory(dir=self._sandbox.making) as place:
            tree, layer = Path(place) / "tree", Path(place) / "layer"
            tree.mkdir()
            page = PRETENCE.format(what=told.commit or task.job)
            (tree / "index.html").write_text(page)
            packed = await in_thread(_packed, tree, layer)
            await transfer.put(layer, wanted.layer_url)
        await task.output.say("sandbox: SIMULATION: nothing was built; a page that says so was packed")
        return msgspec.structs.replace(
            told,
            digest=packed.digest,
            size=packed.size,
            diff_id=packed.diff_id,
            files=packed.files,
            bytes=packed.content_bytes,
        )


def _packed(tree: Path, layer: Path) -> Packed:
    with layer.open("wb") as file:
        return pack(tree, file)


def sandbox_drivers(data: Path, run: Run, pace: Pace) -> list[Driver]:
    sandbox = Sandbox(data, run, pace)
    return [SandboxRuntime(sandbox), SandboxEdge(sandbox), SandboxBuilder(sandbox)]
