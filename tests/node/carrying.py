"""A runtime and an edge on a scratch directory, as the tests of drivers use them."""

import os
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from stead.dev.running import RunningStack
from stead.node.drivers.nginx import NginxEdge
from stead.node.drivers.ports import Assignment, Edge, Refusal, Runtime
from stead.node.drivers.sandbox import Pace, Sandbox, SandboxEdge, SandboxRuntime
from stead.node.drivers.static import StaticRuntime
from stead.node.processes import Processes, Stream
from stead.shared.ids import new_id


@dataclass
class Said:
    lines: list[str] = field(default_factory=list)

    async def say(self, text: str) -> None:
        self.lines.append(text)

    async def chunk(self, stream: Stream, data: bytes) -> None:
        self.lines.append(f"{stream}: {data.decode()}")


def task(environment: str = "", said: Said | None = None) -> Assignment:
    return Assignment(new_id("job"), new_id("site"), environment or new_id("env"), said or Said())


def host() -> str:
    return f"{new_id('h').replace('_', '-')}.example.com"


@dataclass(frozen=True)
class Node:
    """A runtime and the edge that shows its environments, in one data directory."""

    data: Path
    runtime: Runtime
    edge: Edge

    def tree(self, *, of: str = "") -> dict[str, str]:
        """Every file and link below the data directory whose path or content names `of`."""
        paths = (
            Path(folder) / name for folder, dirs, files in os.walk(self.data) for name in (*dirs, *files)
        )
        shown = {str(path.relative_to(self.data)): _content(path) for path in paths}
        return {path: content for path, content in shown.items() if of in path or of in content}

    async def unhealthy(self, it: Assignment, host: str) -> bool:
        with pytest.raises(Refusal) as refused:
            await self.edge.probe(it, host, "/")
        return refused.value.code == "deploy.unhealthy" and host in refused.value.reason


def _content(path: Path) -> str:
    if path.is_symlink():
        return f"-> {path.readlink()}"
    return path.read_text(errors="replace") if path.is_file() else ""


def static(stack: RunningStack) -> Node:
    host, port = "127.0.0.1", stack.nginx.port
    data = stack.node_data
    data.mkdir(exist_ok=True, mode=0o711)
    data.chmod(0o711)
    return Node(data, StaticRuntime(data), NginxEdge(data, (host, port)))


def sandbox(stack: RunningStack) -> Node:
    data = stack.directory.path / "sandboxed"
    state = Sandbox(data, Processes("contract").run, Pace())
    return Node(data, SandboxRuntime(state), SandboxEdge(state))
