"""Containers that outlive the agent: started detached, found again after a restart of the agent, stopped by
name. Their first process inherits a listening socket as descriptor 3."""

import asyncio
import os
import shutil
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec

from stead.node.containers import cgroups
from stead.node.containers.limits import ContainerFailed
from stead.node.process_end import wait_until_ended
from stead.node.uninterrupted import run_in_thread, run_uninterrupted

START_SECONDS = 60.0
_REPEAT_SECONDS = 1.0
_ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}
_INHERITED_DESCRIPTOR = 3


class _State(msgspec.Struct):
    """What `runc state` prints."""

    status: str
    pid: int = 0


class _Configuration(msgspec.Struct):
    annotations: dict[str, str] = {}


@dataclass(frozen=True)
class ServiceContainer:
    name: str
    bundle: Path
    """The directory of its configuration, in memory: the configuration may contain secrets."""
    log: Path
    """Its first process appends to this file."""

    @property
    def cgroup(self) -> str:
        return f"/{self.name}"


class Services:
    """`state` is the directory in which the runtime (runc, or a program with the same commands) remembers its
    containers."""

    def __init__(self, state: Path, program: str = "runc") -> None:
        self._state, self._program = state, program
        state.mkdir(parents=True, exist_ok=True, mode=0o700)

    async def start(
        self, container: ServiceContainer, configuration: Mapping[str, object], listening: socket.socket
    ) -> int:
        """Start the container and return the process id of its first process. Nothing is left on failure."""
        container.bundle.mkdir(parents=True, exist_ok=True, mode=0o700)
        _configuration_file(container).write_bytes(msgspec.json.encode(configuration))
        pid_file, error_file = container.bundle / "pid", container.bundle / "error"
        argv = [
            *self._argv("--log", str(error_file), "--log-format", "json"),
            *("run", "--detach", "--preserve-fds", "1", "--pid-file", str(pid_file)),
            *("--bundle", str(container.bundle), container.name),
        ]
        started = False
        try:
            code = await run_uninterrupted(_run(argv, output=container.log, inherited=listening.fileno()))
            started = code == 0
        finally:
            if not started:
                reason = _last_error(error_file)
                await run_uninterrupted(self.remove(container))
        if not started:
            raise ContainerFailed(f"{self._program} ended with {code}: {reason}")
        return int(pid_file.read_text())

    def has(self, container: ServiceContainer, configuration: Mapping[str, object]) -> bool:
        """Whether the container was started with the annotations of this configuration. One without
        annotations is of an earlier version of the agent, and stays."""
        try:
            started = msgspec.json.decode(_configuration_file(container).read_bytes(), type=_Configuration)
        except FileNotFoundError:
            return True
        return not started.annotations or started.annotations == configuration.get("annotations")

    async def find(self, container: ServiceContainer) -> int | None:
        """The process id of its first process; None when it does not run."""
        process = await asyncio.create_subprocess_exec(
            *self._argv("state", container.name),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            env=_ENVIRONMENT,
        )
        output, _ = await process.communicate()
        if process.returncode:
            return None
        state = msgspec.json.decode(output, type=_State)
        return state.pid if state.status in ("running", "paused") else None

    async def remove(self, container: ServiceContainer) -> None:
        """End all its processes and forget it; succeeds when there is none."""
        await _run(self._argv("delete", "--force", container.name))
        await run_in_thread(cgroups.remove, container.cgroup)
        await run_in_thread(shutil.rmtree, container.bundle, ignore_errors=True)

    async def list_names(self) -> list[str]:
        return sorted(path.name for path in self._state.iterdir() if path.is_dir())

    def _argv(self, *words: str) -> list[str]:
        return [self._program, "--root", str(self._state), *words]


def _configuration_file(container: ServiceContainer) -> Path:
    return container.bundle / "config.json"


async def end_gracefully(pid: int, number: signal.Signals, seconds: float) -> None:
    """Ask the process to end, and return when it has, or when the time is over. The signal is repeated: the
    first process of a container ignores signals until it has begun to handle them."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            os.kill(pid, number)
            async with asyncio.timeout(_REPEAT_SECONDS):
                await wait_until_ended(pid)
        except ProcessLookupError:
            return
        except TimeoutError:
            continue
        return


async def _run(argv: Sequence[str], *, output: Path | None = None, inherited: int | None = None) -> int:
    """Run the program and return its exit code."""
    pid = await run_in_thread(_spawn, argv, output, inherited)
    try:
        async with asyncio.timeout(START_SECONDS):
            await wait_until_ended(pid)
    except TimeoutError:
        os.kill(pid, signal.SIGKILL)
    return await run_in_thread(_exit_code, pid)


def _spawn(argv: Sequence[str], output: Path | None, inherited: int | None) -> int:
    """`posix_spawn` places the inherited descriptor where the container expects it."""
    program = shutil.which(argv[0], path=_ENVIRONMENT["PATH"])
    if program is None:
        raise ContainerFailed(f"{argv[0]} is not installed")
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
    actions: list[tuple[int, ...] | tuple[int, int, str, int, int]] = [
        (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, str(output or "/dev/null"), flags, 0o600),
        (os.POSIX_SPAWN_DUP2, 1, 2),
    ]
    if inherited is not None:
        actions.append((os.POSIX_SPAWN_DUP2, inherited, _INHERITED_DESCRIPTOR))
    return os.posix_spawn(program, list(argv), _ENVIRONMENT, file_actions=actions, setsid=True)


def _exit_code(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def _last_error(path: Path) -> str:
    try:
        return path.read_text(errors="replace")[-500:]
    except FileNotFoundError:
        return ""
