"""Pairs of a runtime driver and an edge driver, live and simulated, for the contract tests."""

import os
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from stead.dev.local_node import LOCAL_NODE
from stead.dev.running_stack import RunningStack
from stead.edge.admin import EdgeAdmin
from stead.node.drivers.driver import Assignment, Refusal
from stead.node.drivers.edge_probe import EdgeProbe
from stead.node.drivers.layout import probe_socket
from stead.node.drivers.runtime_driver import RuntimeDriver
from stead.node.drivers.simulated_edge import SimulatedEdge
from stead.node.drivers.simulated_runtime import SimulatedRuntime
from stead.node.drivers.simulation import SimulatedBehaviour, Simulation
from stead.node.drivers.static_runtime import StaticRuntime
from stead.node.processes import Processes, StreamName
from stead.protocol.edge_records import RecordKind, RecordLine
from stead.protocol.work.hosting import EnsureRoute, Probe
from stead.shared.ids import new_id

Announce = Callable[[Assignment, list[str]], Coroutine[Any, Any, None]]


_REVISIONS = count(1)


@dataclass
class CapturedOutput:
    lines: list[str] = field(default_factory=list)

    async def say(self, text: str) -> None:
        self.lines.append(text)

    async def chunk(self, stream: StreamName, data: bytes) -> None:
        self.lines.append(f"{stream}: {data.decode()}")


def new_assignment(environment: str = "", said: CapturedOutput | None = None) -> Assignment:
    return Assignment(new_id("job"), new_id("site"), environment or new_id("env"), said or CapturedOutput())


def new_host() -> str:
    return f"{new_id('h').replace('_', '-')}.example.com"


@dataclass(frozen=True)
class DriverPair:
    """A runtime driver and the edge driver for its environments, in one data directory."""

    data: Path
    runtime: RuntimeDriver
    edge: EdgeProbe | SimulatedEdge
    announce: Announce
    """Make the environment answer exactly these hosts."""

    async def answers(self, it: Assignment, host: str) -> None:
        await self.edge.probe(it, Probe(host))

    def tree(self, *, of: str = "") -> dict[str, str]:
        """Every file and link below the data directory whose path or content contains `of`, except those of
        nginx, which writes to them at any time."""
        paths = (
            Path(folder) / name for folder, dirs, files in os.walk(self.data) for name in (*dirs, *files)
        )
        own = (path for path in paths if path.relative_to(self.data).parts[0] != "run")
        shown = {str(path.relative_to(self.data)): _content(path) for path in own}
        return {path: content for path, content in shown.items() if of in path or of in content}

    async def unhealthy(self, it: Assignment, host: str) -> bool:
        with pytest.raises(Refusal) as refused:
            await self.edge.probe(it, Probe(host))
        return refused.value.code == "deploy.unhealthy" and host in refused.value.reason


@dataclass(frozen=True)
class SimulatedPair(DriverPair):
    edge: SimulatedEdge


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return path.read_text(errors="replace") if path.is_file() else ""


def live_drivers(stack: RunningStack) -> DriverPair:
    data, known = stack.node_data, dict[str, set[str]]()

    async def announce(it: Assignment, hosts: list[str]) -> None:
        """Send records to nginx, as the feed does."""
        gone = known.get(it.environment, set()) - set(hosts)
        known[it.environment] = set(hosts)
        async with EdgeAdmin(data / "run" / "private" / "admin.sock") as admin:
            await admin.apply(
                [
                    line("environment", it.environment, {"site": it.site, "node": LOCAL_NODE}),
                    *(line("host", host, {"environment": it.environment}) for host in hosts),
                    *(line("host", host, None) for host in gone),
                ]
            )

    return DriverPair(data, StaticRuntime(data), EdgeProbe(probe_socket(data)), announce)


def line(kind: RecordKind, name: str, value: object) -> RecordLine:
    return RecordLine(kind, name, next(_REVISIONS), value)


def simulated_drivers(stack: RunningStack) -> SimulatedPair:
    data = stack.directory.path / "simulated"
    simulation = Simulation(data, Processes("contract").run, SimulatedBehaviour())
    edge = SimulatedEdge(simulation)

    async def announce(it: Assignment, hosts: list[str]) -> None:
        await edge.ensure_route(it, EnsureRoute(tuple(hosts)))

    return SimulatedPair(data, SimulatedRuntime(simulation), edge, announce)
