"""Runs containers with runc. When a call returns, in whatever way, none of the container's processes runs."""

import asyncio
import resource
import shutil
import subprocess
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex

import msgspec
import structlog

from stead.node.containers import cgroups
from stead.node.containers.attached import start_attached
from stead.node.containers.bundle import OPEN_FILES
from stead.node.containers.cgroups import LimitEvents
from stead.node.containers.limits import ContainerFailed
from stead.node.process_end import wait_until_ended
from stead.node.processes import Run, Sink, StreamName
from stead.node.uninterrupted import run_in_thread, run_uninterrupted

_POLL_SECONDS = 0.02

log = structlog.get_logger()


@dataclass
class Container:
    name: str
    bundle: Path
    """The directory of its configuration and of runc's log."""
    limit_events: LimitEvents = field(default_factory=LimitEvents)
    """Filled in when the container has ended, also when it was stopped."""
    group: str = ""
    """The control group that its own is in; empty for the root."""

    @property
    def cgroup(self) -> str:
        return f"{self.group}/{self.name}"


def new_container(prefix: str, directory: Path, group: str = "") -> Container:
    """A container with a unique name and a bundle below the directory."""
    name = f"{prefix}{token_hex(8)}"
    return Container(name, directory / name, group=group)


def open_files_limit() -> int:
    """How many files a container may open: no more than this process may."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    return min(OPEN_FILES, hard)


class Runc:
    """`state` is the directory in which runc remembers its containers."""

    def __init__(self, run: Run, state: Path) -> None:
        self._run, self._state = run, state

    async def run(self, container: Container, configuration: Mapping[str, object], sink: Sink) -> int:
        """Run the container until its program ends, and return the exit code. Its configuration, which may
        contain secrets, is removed with it."""
        return await self._run_container(
            container, configuration, lambda: self._run(self._run_argv(container), sink)
        )

    async def run_attached(
        self,
        container: Container,
        configuration: Mapping[str, object],
        descriptors: Sequence[int],
        on_created: Callable[[], Awaitable[None]],
    ) -> int:
        """Like `run`, with these descriptors as the streams of the program: stdin, stdout and stderr, or one
        of a terminal. `on_created` is called when the program begins, or could not begin."""
        pid_file = container.bundle / "pid"
        argv = self._run_argv(container, "--pid-file", str(pid_file))
        return await self._run_container(
            container, configuration, lambda: _run_attached(argv, descriptors, pid_file, on_created)
        )

    async def _run_container(
        self, container: Container, configuration: Mapping[str, object], run: Callable[[], Awaitable[int]]
    ) -> int:
        container.bundle.mkdir(mode=0o700)
        try:
            (container.bundle / "config.json").write_bytes(msgspec.json.encode(configuration))
            code = await run()
            error = _error_of_runc(container.bundle / "log")
        finally:
            await run_uninterrupted(self._remove(container))
        if error:
            log.warning("sandbox.broken", reason=error)
            raise ContainerFailed(error)
        return code

    async def send_signal(self, container: Container, name: str) -> None:
        """To the first process of the container, if it still runs."""
        await self._run(self._argv("kill", container.name, name), _discard)

    async def remove_leftovers(self) -> None:
        """Remove the containers that a killed agent left running."""
        for name in sorted(path.name for path in self._state.glob("*")):
            await self._run(self._argv("delete", "--force", name), _discard)
            for group in await run_in_thread(cgroups.locate, name):
                await run_in_thread(cgroups.remove, group)

    def _run_argv(self, container: Container, *options: str) -> list[str]:
        return [
            *self._argv("--log", str(container.bundle / "log"), "--log-format", "json"),
            *("run", "--keep", "--bundle", str(container.bundle), *options, container.name),
        ]

    async def _remove(self, container: Container) -> None:
        container.limit_events = cgroups.limit_events(container.cgroup)
        # This kills the first process, and the kernel then kills all others of its PID namespace. Any process
        # that is left nevertheless is found through the control group.
        await self._run(self._argv("delete", "--force", container.name), _discard)
        await run_in_thread(cgroups.remove, container.cgroup)
        await run_in_thread(shutil.rmtree, container.bundle, True)

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


async def _run_attached(
    argv: Sequence[str], descriptors: Sequence[int], pid_file: Path, on_created: Callable[[], Awaitable[None]]
) -> int:
    process = start_attached(argv, descriptors)
    try:
        # runc does not tell otherwise that the program begins.
        while process.poll() is None and not pid_file.exists():  # noqa: ASYNC110, ASYNC240
            await asyncio.sleep(_POLL_SECONDS)
        await on_created()
        if process.poll() is None:
            await wait_until_ended(process.pid)
        return process.wait()
    finally:
        # Its container is removed in any case, so runc need not end it.
        if process.poll() is None:
            process.kill()
            process.wait()


async def _discard(_: StreamName, __: bytes) -> None:
    return
