"""Runs containers with runc. When a call returns, in whatever way, none of the container's processes runs."""

import resource
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import msgspec
import structlog

from stead.node.containers import cgroups
from stead.node.containers.bundle import OPEN_FILES
from stead.node.containers.cgroups import LimitEvents
from stead.node.containers.limits import ContainerFailed
from stead.node.processes import Run, Sink, StreamName
from stead.node.uninterrupted import run_in_thread, run_uninterrupted

log = structlog.get_logger()


@dataclass
class Container:
    name: str
    bundle: Path
    """The directory of its configuration and of runc's log."""
    limit_events: LimitEvents = field(default_factory=LimitEvents)
    """Filled in when the container has ended, also when it was stopped."""

    @property
    def cgroup(self) -> str:
        return f"/{self.name}"


def new_container(prefix: str, directory: Path) -> Container:
    """A container with a unique name and a bundle below the directory."""
    name = f"{prefix}{token_hex(8)}"
    return Container(name, directory / name)


def open_files_limit() -> int:
    """How many files a container may open: no more than this process may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(OPEN_FILES, hard)


class Runc:
    """`state` is the directory in which runc remembers its containers."""

    def __init__(self, run: Run, state: Path) -> None:
        self._run, self._state = run, state

    async def run(self, container: Container, configuration: Mapping[str, object], sink: Sink) -> int:
        """Run the container until its program ends, and return the exit code."""
        container.bundle.mkdir(mode=0o700)
        (container.bundle / "config.json").write_bytes(msgspec.json.encode(configuration))
        try:
            code = await self._start(container, sink)
        finally:
            await run_uninterrupted(self._remove(container))
        if error := _error_of_runc(container.bundle / "log"):
            log.warning("sandbox.broken", reason=error)
            raise ContainerFailed(error)
        return code

    async def _start(self, container: Container, sink: Sink) -> int:
        return await self._run(
            [
                *self._argv("--log", str(container.bundle / "log"), "--log-format", "json"),
                *("run", "--keep", "--bundle", str(container.bundle), container.name),
            ],
            sink,
        )

    async def _remove(self, container: Container) -> None:
        container.limit_events = cgroups.limit_events(container.cgroup)
        # This kills the first process, and the kernel then kills all others of its PID namespace. Any process
        # that is left nevertheless is found through the control group.
        await self._run(self._argv("delete", "--force", container.name), _discard)
        await run_in_thread(cgroups.remove, container.cgroup)

    def _argv(self, *words: str) -> list[str]:
        return ["runc", "--root", str(self._state), *words]


def remove_leftover_containers(state: Path, prefix: str) -> int:
    """Remove the containers that a killed agent left running, and return the number of their control groups.
    Blocks until they are gone."""
    left = sorted(cgroups.find(prefix))
    for name in [*(path.name for path in state.glob("*")), *(group[1:] for group in left)]:
        subprocess.run(["runc", "--root", state, "delete", "--force", name], capture_output=True)  # noqa: S607
    for group in left:
        cgroups.remove(group)
    return len(left)


class _LogLine(msgspec.Struct):
    level: str = ""
    msg: str = ""


def _error_of_runc(path: Path) -> str:
    """Why runc itself failed; empty when it did not."""
    try:
        lines = path.read_bytes().splitlines()
    except FileNotFoundError:
        return ""
    decoded = (msgspec.json.decode(line, type=_LogLine) for line in lines)
    return next((line.msg[:500] for line in decoded if line.level in ("error", "fatal")), "")


async def _discard(_: StreamName, __: bytes) -> None:
    return
