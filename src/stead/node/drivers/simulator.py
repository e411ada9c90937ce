"""The simulator: the only simulation in Stead. It serves test keys. Nothing runs, and no visitor is answered.

It records what it is asked for in small JSON files, says in the job's output that it simulates, takes as long
and fails where it is configured to, and otherwise passes the same contract tests as the real drivers.
"""

import asyncio
import hashlib
import tempfile
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from stead.artifacts.packer import PackedLayer, pack_layer
from stead.node import transfer
from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Driver, Handler, Refusal
from stead.node.drivers.releases import fetch_layer, verify_release
from stead.node.drivers.runtime_driver import RuntimeDriver
from stead.node.drivers.simulated_cms import SimulatedCms
from stead.node.processes import Run
from stead.node.uninterrupted import run_in_thread
from stead.protocol.questions import Question
from stead.protocol.work.access import RunCommand, SetAccess, SetPassword
from stead.protocol.work.base import NodeWork, tag_of
from stead.protocol.work.builds import Build, BuildResult, GitSource
from stead.protocol.work.cms import (
    ChangeComponents,
    ChangeContent,
    ComponentOutcome,
    ComponentsChanged,
    DatabaseExported,
    ExportDatabase,
)
from stead.protocol.work.functions import EnsureFunction, RemoveFunction
from stead.protocol.work.hosting import (
    CheckPhp,
    DiscardDataset,
    EnsureEnvironment,
    EnsureRoute,
    PrepareDataset,
    Probe,
    RemoveEnvironment,
    RemoveRoute,
    RestartEnvironment,
    SuspendEnvironment,
    SwitchPhp,
)
from stead.protocol.work.releases import EnsureRelease
from stead.protocol.work.scanning import (
    Component,
    Finding,
    QuarantineFiles,
    QuarantineOutcome,
    QuarantineReport,
    RestoreFile,
    ScanEnvironment,
    ScanReport,
)
from stead.protocol.work.snapshots import (
    RestoreSnapshot,
    SnapshotTaken,
    SnapshotVerified,
    TakeSnapshot,
    VerifySnapshot,
)
from stead.shared.runtimes import RUNTIMES

HELD_SECONDS = 3600.0
SIMULATED_MALWARE = "simulate-malware"
SIMULATED_FILE = "wp-content/uploads/simulated.php"
SIMULATED_SHA256 = hashlib.sha256(b"simulated malware").hexdigest()

SIMULATED_PAGE = """<!doctype html>
<title>A simulation</title>
<p>Nothing was built: the simulator packed this page for {what}.</p>
"""


class SimulatedEnvironment(msgspec.Struct, frozen=True):
    site: str


class SimulatedHost(msgspec.Struct, frozen=True):
    environment: str


@dataclass(frozen=True)
class SimulatedBehaviour:
    seconds: float = 0.0
    """How long each piece of work takes."""
    fail_at: frozenset[str] = frozenset()
    """Tags of the kinds of work that fail."""


def wait_argv(seconds: float) -> list[str]:
    return ["/bin/sleep", f"{seconds:g}"]


class Simulation:
    """What the simulated drivers share: the files `environments/<id>`, `hosts/<host>` and `releases/<name>`,
    and how they behave. A release is an empty file: it records that the artifact was verified."""

    def __init__(self, data: Path, run: Run, behaviour: SimulatedBehaviour) -> None:
        self._home, self._run, self._behaviour = data / "simulator", run, behaviour
        _rename_home(data / "sandbox", self._home)
        self.environments, self.hosts = self._home / "environments", self._home / "hosts"
        self.releases, self.scratch = self._home / "releases", self._home / "making"
        self.datasets, content = self._home / "datasets", self._home / "cms"
        for directory in (self.environments, self.hosts, self.releases, self.scratch, self.datasets, content):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.cms = SimulatedCms(content)

    async def simulate(self, kind: type[NodeWork], task: Assignment, hosts: Sequence[str] = ()) -> None:
        """Report, fail or wait, before the effect of any work is recorded."""
        tag = tag_of(kind)
        await task.output.say(f"simulator: simulated {tag} of {task.environment}")
        if self._must_fail(tag, task, hosts):
            raise Refusal("sandbox.told_to_fail", f"the simulator was told to fail at {tag}")
        seconds = HELD_SECONDS if self._must_hold(task) else self._behaviour.seconds
        if seconds > 0:
            owner = {"STEAD_JOB": task.job}
            await self._run(wait_argv(seconds), task.output.chunk, environment=owner)

    def _must_fail(self, tag: str, task: Assignment, hosts: Sequence[str]) -> bool:
        label = f"fail-at-{tag.replace('_', '-')}"
        known = {*hosts, *self.hosts_of(task.environment)}
        return (
            tag in self._behaviour.fail_at
            or any(label in host.split(".") for host in known)
            or not {tag, f"{tag} {task.job}", f"{tag} {task.job} {task.step}"}.isdisjoint(
                self._lines_of("fail-at")
            )
        )

    def _must_hold(self, task: Assignment) -> bool:
        return f"{task.job} {task.step}" in self._lines_of("hold-at")

    def _lines_of(self, file: str) -> set[str]:
        """Lines of `fail-at`: a kind of work, optionally the job that it fails for, and optionally the step.
        Lines of `hold-at`: a job and the step of it that goes on only when its process is killed."""
        try:
            return {" ".join(line.split()) for line in (self._home / file).read_text().splitlines()}
        except FileNotFoundError:
            return set()

    def hosts_of(self, environment: str) -> set[str]:
        return {host for host in layout.list_names(self.hosts) if self.environment_of(host) == environment}

    def environment_of(self, host: str) -> str | None:
        path = self.hosts / host
        try:
            return msgspec.json.decode(path.read_bytes(), type=SimulatedHost).environment
        except FileNotFoundError:
            return None

    def has_environment(self, environment: str) -> bool:
        return (self.environments / environment).exists()


def _rename_home(old: Path, new: Path) -> None:
    """The directory had another name before."""
    if old.exists() and not new.exists():
        old.rename(new)


class SimulatedRuntime(RuntimeDriver):
    runtimes = RUNTIMES

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            *super().handlers,
            Handler(RunCommand, self.run_command, ("cms",)),
            Handler(PrepareDataset, self.prepare_dataset, RUNTIMES),
            Handler(DiscardDataset, self.discard_dataset, RUNTIMES),
            Handler(TakeSnapshot, self.take_snapshot, RUNTIMES),
            Handler(VerifySnapshot, self.verify_snapshot, RUNTIMES),
            Handler(RestoreSnapshot, self.restore_snapshot, RUNTIMES),
            Handler(ScanEnvironment, self.scan_environment, ("cms",)),
            Handler(QuarantineFiles, self.quarantine_files, ("cms",)),
            Handler(RestoreFile, self.restore_file, ("cms",)),
            Handler(SetAccess, self.set_access),
            Handler(CheckPhp, self.check_php, ("cms",)),
            Handler(SwitchPhp, self.switch_php, ("cms",)),
            Handler(SetPassword, self.set_password, ("cms",)),
            Handler(ChangeComponents, self.change_components, ("cms",)),
            Handler(ChangeContent, self.change_content, ("cms",)),
            Handler(ExportDatabase, self.export_database, ("cms",)),
            Handler(EnsureFunction, self.ensure_function),
            Handler(RemoveFunction, self.remove_function),
        ]

    async def answer(self, question: Question) -> bytes | None:
        if not self._simulation.has_environment(layout.check_identifier(question.environment)):
            return None
        return self._simulation.cms.answer(question)

    async def ensure_environment(self, task: Assignment) -> None:
        path = self._path(task)
        await self._simulation.simulate(EnsureEnvironment, task)
        if not path.exists():
            layout.write_file(path, msgspec.json.encode(SimulatedEnvironment(task.site)), mode=0o600)

    async def remove_environment(self, task: Assignment) -> None:
        path = self._path(task)
        await self._simulation.simulate(RemoveEnvironment, task)
        self._simulation.cms.forget(path.name)
        for dataset in self._simulation.datasets.glob(f"{path.name}.*"):
            dataset.unlink(missing_ok=True)
        path.unlink(missing_ok=True)

    async def restart_environment(self, task: Assignment) -> None:
        path = self._path(task)
        await self._simulation.simulate(RestartEnvironment, task)
        _require_environment(path)

    async def suspend_environment(self, task: Assignment) -> None:
        self._path(task)
        await self._simulation.simulate(SuspendEnvironment, task)

    async def run_command(self, task: Assignment, _: RunCommand) -> None:
        path = self._path(task)
        await self._simulation.simulate(RunCommand, task)
        _require_environment(path)
        await task.output.say("simulator: SIMULATION: the command was not run")

    async def set_access(self, task: Assignment, _: SetAccess) -> None:
        """Nobody can sign in to a simulation, so there is nothing to keep. A list belongs to no job, so
        nothing is said in the output of one."""
        self._path(task)

    async def prepare_dataset(self, task: Assignment, work: PrepareDataset) -> None:
        """A dataset is an empty file."""
        path = self._path(task)
        await self._simulation.simulate(PrepareDataset, task)
        if work.source:
            _require_environment(path.with_name(layout.check_identifier(work.source)))
        self._simulation.datasets.joinpath(f"{path.name}.{work.dataset}").touch(mode=0o600)
        await task.output.say("simulator: SIMULATION: nothing was copied or installed")

    async def discard_dataset(self, task: Assignment, work: DiscardDataset) -> None:
        path = self._path(task)
        await self._simulation.simulate(DiscardDataset, task)
        self._simulation.datasets.joinpath(f"{path.name}.{work.dataset}").unlink(missing_ok=True)

    async def take_snapshot(self, task: Assignment, work: TakeSnapshot) -> SnapshotTaken:
        """Nothing is stored. What is reported follows from the id alone, so that it is the same each time."""
        path = self._path(task)
        await self._simulation.simulate(TakeSnapshot, task)
        _require_environment(path)
        await task.output.say("simulator: SIMULATION: nothing was copied to the repository")
        digest = hashlib.sha256(work.document).hexdigest()
        size = len(work.document)
        return SnapshotTaken(simulated_restic_id(work.snapshot), f"sha256:{digest}", size, size, files=1)

    async def verify_snapshot(self, task: Assignment, work: VerifySnapshot) -> SnapshotVerified:
        self._path(task)
        await self._simulation.simulate(VerifySnapshot, task)
        _require_snapshot(work.snapshot, work.restic_id)
        await task.output.say("simulator: SIMULATION: nothing was restored or compared")
        return SnapshotVerified(files=1, booted=work.boot and work.runtime == "cms")

    async def restore_snapshot(self, task: Assignment, work: RestoreSnapshot) -> None:
        path = self._path(task)
        await self._simulation.simulate(RestoreSnapshot, task)
        _require_snapshot(work.snapshot, work.restic_id)
        self._simulation.datasets.joinpath(f"{path.name}.{work.dataset}").touch(mode=0o600)
        await task.output.say("simulator: SIMULATION: nothing was restored")

    async def scan_environment(self, task: Assignment, work: ScanEnvironment) -> ScanReport:
        """A host with the label `simulate-malware` has an infected file, until it was moved or ignored."""
        path = self._path(task)
        await self._simulation.simulate(ScanEnvironment, task)
        _require_environment(path)
        await task.output.say("simulator: SIMULATION: nothing was scanned")
        hosts = {*work.hosts, *self._simulation.hosts_of(task.environment)}
        infected = any(host.startswith(SIMULATED_MALWARE) for host in hosts)
        held = self._list_held(path)
        found = Finding(SIMULATED_FILE, SIMULATED_SHA256, "simulated_malware", "simulator", "line 1", 64)
        has_file = infected and not held and SIMULATED_SHA256 not in work.ignored
        return ScanReport(
            findings=(found,) if has_file else (),
            components=(Component("core", "wordpress", "WordPress", "6.8"),),
            held=held,
            files=1,
            scanned=1,
            clamd="simulated",
            rules="simulated",
        )

    async def quarantine_files(self, task: Assignment, work: QuarantineFiles) -> QuarantineReport:
        path = self._path(task)
        await self._simulation.simulate(QuarantineFiles, task)
        _require_environment(path)
        for item in work.items:
            self._held(path, item.detection).touch(mode=0o600)
        await task.output.say("simulator: SIMULATION: no file was moved")
        return QuarantineReport(
            tuple(QuarantineOutcome(each.detection, "quarantined") for each in work.items)
        )

    async def restore_file(self, task: Assignment, work: RestoreFile) -> None:
        path = self._path(task)
        await self._simulation.simulate(RestoreFile, task)
        _require_environment(path)
        self._held(path, work.detection).unlink(missing_ok=True)
        await task.output.say("simulator: SIMULATION: no file was restored")

    def _held(self, path: Path, detection: str) -> Path:
        return self._simulation.datasets / f"{path.name}.{detection}"

    def _list_held(self, path: Path) -> tuple[str, ...]:
        found = self._simulation.datasets.glob(f"{path.name}.det_*")
        return tuple(sorted(each.name.partition(".")[2] for each in found))

    async def check_php(self, task: Assignment, work: CheckPhp) -> None:
        path = self._path(task)
        await self._simulation.simulate(CheckPhp, task)
        _require_environment(path)
        await task.output.say(f"simulator: SIMULATION: {work.host} would be checked with PHP {work.php}")

    async def switch_php(self, task: Assignment, work: SwitchPhp) -> None:
        path = self._path(task)
        await self._simulation.simulate(SwitchPhp, task)
        _require_environment(path)
        await task.output.say(f"simulator: SIMULATION: the environment would run PHP {work.php}")

    async def set_password(self, task: Assignment, _: SetPassword) -> None:
        path = self._path(task)
        await self._simulation.simulate(SetPassword, task)
        _require_environment(path)
        await task.output.say("simulator: SIMULATION: there is no WordPress whose password could change")

    async def change_components(self, task: Assignment, work: ChangeComponents) -> ComponentsChanged:
        path = self._path(task)
        await self._simulation.simulate(ChangeComponents, task)
        _require_environment(path)
        for change in work.changes:
            await task.output.say(f"simulator: SIMULATION: {change.action} of {change.slug} was not done")
        return ComponentsChanged(tuple(ComponentOutcome(change.slug) for change in work.changes))

    async def change_content(self, task: Assignment, work: ChangeContent) -> None:
        path = self._path(task)
        await self._simulation.simulate(ChangeContent, task)
        _require_environment(path)
        for change in work.changes:
            question = Question(
                *("node", "node", task.job, task.environment, "simulator", change.kind, 1.0, change.body)
            )
            self._simulation.cms.answer(question)

    async def export_database(self, task: Assignment, work: ExportDatabase) -> DatabaseExported:
        path = self._path(task)
        await self._simulation.simulate(ExportDatabase, task)
        _require_environment(path)
        with tempfile.TemporaryDirectory(dir=self._simulation.scratch) as place:
            dump = Path(place) / "dump.sql"
            dump.write_text("-- A simulation: there is no database.\n")
            await transfer.put(dump, work.url)
            return DatabaseExported(dump.stat().st_size)

    async def ensure_function(self, task: Assignment, work: EnsureFunction) -> None:
        path = self._path(task)
        await self._simulation.simulate(EnsureFunction, task)
        _require_environment(path)
        verify_release(work.release)
        await task.output.say(f"simulator: SIMULATION: the function {work.function} would be started")

    async def remove_function(self, task: Assignment, work: RemoveFunction) -> None:
        self._path(task)
        await self._simulation.simulate(RemoveFunction, task)
        await task.output.say(f"simulator: SIMULATION: the function {work.function} would be removed")

    async def ensure_release(self, task: Assignment, wanted: EnsureRelease) -> None:
        """The layer is downloaded and verified like a real one, and then deleted."""
        path = self._path(task)
        await self._simulation.simulate(EnsureRelease, task)
        _require_environment(path)
        release = self._simulation.releases / layout.release_name(wanted.digest)
        (layer,), address = verify_release(wanted), wanted.layers[0].url
        if not release.exists():
            async with fetch_layer(layer, address, self._simulation.scratch):
                layout.write_file(release, b"", mode=0o600)

    async def tidy(self) -> None:
        """Simulated releases are empty files."""

    async def list_environments(self) -> Collection[str]:
        return layout.list_names(self._simulation.environments)

    def _path(self, task: Assignment) -> Path:
        return self._simulation.environments / layout.check_identifier(task.environment)


def _require_environment(path: Path) -> None:
    if not path.exists():
        raise Refusal("environment.not_found", "the environment is not on this node")


def simulated_restic_id(snapshot: str) -> str:
    return hashlib.sha256(snapshot.encode()).hexdigest()


def _require_snapshot(snapshot: str, restic_id: str) -> None:
    if restic_id != simulated_restic_id(snapshot):
        raise Refusal("backup.damaged", f"the snapshot {snapshot} is not in the repository (simulated)")


class SimulatedEdge(Driver):
    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._changing = asyncio.Lock()

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [
            Handler(EnsureRoute, self.ensure_route),
            Handler(RemoveRoute, self.remove_route),
            Handler(Probe, self.probe, ("", "cms")),
        ]

    async def ensure_route(self, task: Assignment, work: EnsureRoute) -> None:
        """A host that another environment answers is refused, and nothing changes."""
        wanted = {layout.check_host(host) for host in work.hosts}
        environment = layout.check_identifier(task.environment)
        await self._simulation.simulate(EnsureRoute, task, work.hosts)
        async with self._changing:
            for host in sorted(wanted):
                if self._simulation.environment_of(host) not in {None, environment}:
                    raise Refusal("route.taken", f"{host} is answered by another environment")
            for host in wanted:
                record = msgspec.json.encode(SimulatedHost(environment))
                layout.write_file(self._simulation.hosts / host, record, mode=0o600)
            self._remove_hosts(self._simulation.hosts_of(environment) - wanted)

    async def remove_route(self, task: Assignment, _: RemoveRoute) -> None:
        environment = layout.check_identifier(task.environment)
        await self._simulation.simulate(RemoveRoute, task)
        async with self._changing:
            self._remove_hosts(self._simulation.hosts_of(environment))

    async def probe(self, task: Assignment, wanted: Probe) -> None:
        host, path, status = layout.check_host(wanted.host), wanted.path, wanted.status
        await self._simulation.simulate(Probe, task, [host])
        environment = self._simulation.environment_of(host)
        if environment is None or not self._simulation.has_environment(environment):
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was answered 404 (simulated)")
        if wanted.release and not (self._simulation.releases / layout.release_name(wanted.release)).exists():
            raise Refusal("deploy.unhealthy", f"GET {path} of {host} was answered 503 (simulated)")
        await task.output.say(f"probe: GET {path} of {host} would be answered {status or 200} (simulated)")

    def _remove_hosts(self, hosts: Collection[str]) -> None:
        for host in hosts:
            (self._simulation.hosts / host).unlink(missing_ok=True)


class SimulatedBuilder(Driver):
    """Fetches and runs nothing: it packs a page that says so, in the same format as a real builder."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation

    @property
    def handlers(self) -> Sequence[Handler[Any]]:
        return [Handler(Build, self.build, ("cms", "static", "wasm"))]

    async def build(self, task: Assignment, wanted: Build) -> BuildResult:
        await self._simulation.simulate(Build, task)
        ref, commit = "", ""
        if isinstance(wanted.source, GitSource):
            ref, commit = wanted.source.ref, wanted.source.commit or _simulated_commit(wanted.source, task)
        with tempfile.TemporaryDirectory(dir=self._simulation.scratch) as place:
            tree, layer = Path(place) / "tree", Path(place) / "layer"
            tree.mkdir()
            (tree / "index.html").write_text(SIMULATED_PAGE.format(what=commit or task.job))
            packed = await run_in_thread(_pack, tree, layer)
            await transfer.put(layer, wanted.layer_url)
        await task.output.say("simulator: SIMULATION: nothing was built; a page that says so was packed")
        return BuildResult(
            digest=packed.digest,
            size=packed.size,
            diff_id=packed.diff_id,
            files=packed.files,
            bytes=packed.content_bytes,
            directories=packed.directories,
            commit=commit,
            ref=ref,
            author="Simulator" if commit else "",
            message="A simulated commit." if commit else "",
        )


def _simulated_commit(source: GitSource, task: Assignment) -> str:
    name = f"{source.url} {source.ref} {task.job}".encode()
    return hashlib.sha1(name, usedforsecurity=False).hexdigest()


def _pack(tree: Path, layer: Path) -> PackedLayer:
    with layer.open("wb") as file:
        return pack_layer(tree, file)


def simulated_drivers(data: Path, run: Run, behaviour: SimulatedBehaviour) -> list[Driver]:
    simulation = Simulation(data, run, behaviour)
    return [SimulatedRuntime(simulation), SimulatedEdge(simulation), SimulatedBuilder(simulation)]
