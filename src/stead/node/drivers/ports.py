"""What a node asks of its engines. `ensure_…` names an end state: repeating it changes nothing."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from stead.node.processes import Stream
from stead.protocol import commands


class Refusal(Exception):
    """The node will not do this however often it is asked. Anything else that is raised is tried again."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(code, reason)
        self.code, self.reason = code, reason


class Output(Protocol):
    """Where a driver says what it does; the customer reads it as the job's output."""

    async def say(self, text: str) -> None:
        """One line of the node's own."""

    async def chunk(self, stream: Stream, data: bytes) -> None:
        """The next bytes a program wrote; empty when it has ended."""


@dataclass(frozen=True)
class Assignment:
    """On whose behalf a driver works, and where it may say what it does."""

    job: str
    site: str
    environment: str
    output: Output


class Runtime(Protocol):
    async def ensure_environment(self, task: Assignment) -> None:
        """Whatever the environment needs to run is here, with something to show; what it shows stays."""

    async def remove_environment(self, task: Assignment) -> None:
        """Nothing of the environment is here; fine when nothing was."""

    async def restart_environment(self, task: Assignment) -> None:
        """The environment's processes are new ones and its content is what it was; refused when not here."""

    async def ensure_release(self, task: Assignment, wanted: commands.EnsureRelease) -> None:
        """The artifact is here under its name, after its signature and every digest were found right; else
        refused with `artifact.signature_invalid`, and nothing of it is here."""

    async def tidy(self) -> None:
        """Nothing is here that nobody needs any more."""

    async def inventory(self) -> Collection[str]:
        """The environments that are here."""


class Builder(Protocol):
    async def build(self, task: Assignment, wanted: commands.Build) -> commands.Facts:
        """The layer is where it was wanted, and these are its `BuildFacts`; else refused with
        `build.failed` and the reason. When it ends, in whatever way, nothing of it runs any more."""


class Edge(Protocol):
    async def probe(self, task: Assignment, wanted: commands.Probe) -> None:
        """The host is answered, by this status if one is wanted; else refused with what was seen."""


class Routes(Protocol):
    """For a simulation, which has no edge that hears of routes by itself."""

    async def ensure_route(self, task: Assignment, hosts: Sequence[str]) -> None:
        """These hosts, and no others, are answered by the environment; one that is another's is refused, and
        then nothing has changed."""

    async def remove_route(self, task: Assignment) -> None:
        """No host is answered by the environment; fine when none was."""


@dataclass(frozen=True)
class Drivers:
    """One Runtime may serve several kinds; a kind that is missing is one this node cannot carry."""

    runtimes: Mapping[commands.Runtime, Runtime]
    edge: Edge
    builders: Mapping[str, Builder] = field(default_factory=dict)
    """By what they build; a node without the images to build in has none."""
    simulated_routes: Routes | None = None

    @property
    def routes(self) -> Routes:
        if self.simulated_routes is None:
            raise Refusal("route.unsupported", "the edge hears of routes by its feed")
        return self.simulated_routes

    def runtime(self, kind: commands.Runtime) -> Runtime:
        if kind not in self.runtimes:
            raise Refusal("runtime.unsupported", f"this node carries no {kind} environments")
        return self.runtimes[kind]

    def builder(self, kind: str) -> Builder:
        if kind not in self.builders:
            raise Refusal("build.unavailable", f"this node builds no {kind} sites")
        return self.builders[kind]

    def all_runtimes(self) -> list[Runtime]:
        return list({id(runtime): runtime for runtime in self.runtimes.values()}.values())
