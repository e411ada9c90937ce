"""What the drivers of the simulator share: a directory, and how simulated work behaves."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from stead.node.drivers import layout
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.drivers.simulated_cms import SimulatedCms
from stead.node.drivers.simulated_hosts import SimulatedHosts
from stead.node.processes import Run
from stead.protocol.work.base import NodeWork, tag_of

HELD_SECONDS = 3600.0


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
        self.environments, hosts = self._home / "environments", self._home / "hosts"
        self.releases, self.scratch = self._home / "releases", self._home / "making"
        self.datasets, content = self._home / "datasets", self._home / "cms"
        for directory in (self.environments, hosts, self.releases, self.scratch, self.datasets, content):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.hosts, self.cms = SimulatedHosts(hosts), SimulatedCms(content)

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
        known = {*hosts, *self.hosts.list_hosts(task.environment)}
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

    def has_environment(self, environment: str) -> bool:
        return (self.environments / environment).exists()

    def path_of(self, task: Assignment) -> Path:
        return self.environments / layout.check_identifier(task.environment)


def _rename_home(old: Path, new: Path) -> None:
    """The directory had another name before."""
    if old.exists() and not new.exists():
        old.rename(new)


def require_environment(path: Path) -> None:
    if not path.exists():
        raise Refusal("environment.not_found", "the environment is not on this node")
