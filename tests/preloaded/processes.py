"""The tests' side: starts programs through the server, and processes that behave like `subprocess.Popen`."""

import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import Lock
from typing import IO

import msgspec
import pytest

from stead.dev import child_process, subprocesses
from stead.dev.subprocesses import CompletedCommand, Streams
from tests.patience import time_limit
from tests.preloaded.protocol import Reap, Reply, Request, Start

ROOT = Path(__file__).parents[2]
PYTHON_MODULE = [sys.executable, "-m"]
_start_unprepared = subprocesses.spawn


def spawn(
    argv: Sequence[str],
    *,
    streams: Streams,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    cwd: Path | None = None,
    death_signal: signal.Signals = signal.SIGKILL,
) -> "Process":
    """Replaces `stead.dev.subprocesses.spawn`. Anything but a Python module is started as usual."""
    network, command = _split_network(argv)
    if command[:2] != PYTHON_MODULE or user is not None:
        return _start_unprepared(
            argv, streams=streams, env=env, user=user, cwd=cwd, death_signal=death_signal
        )
    environment = dict(os.environ if env is None else env)
    directory = str(cwd or Path("/"))
    start = Start(command[2], command[3:], environment, directory, death_signal, network)
    return _server().start(
        start, [_descriptor(each) for each in (streams.input, streams.output, streams.errors)]
    )


@contextmanager
def preloaded_programs() -> Iterator[None]:
    """Inside the block, stacks start Stead's programs through the server."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(child_process, "spawn", spawn)
        patch.setattr(subprocesses, "spawn", spawn)
        yield


async def run(argv: Sequence[str], *, env: Mapping[str, str]) -> CompletedCommand:
    """Runs a command and waits for it."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = spawn(argv, streams=Streams(output, output, errors), env=env)
        async with time_limit(subprocesses.RUN_TIMEOUT):
            code = await wait_for_exit(process)
        output.seek(0)
        errors.seek(0)
        return CompletedCommand(code, output.read().decode(), errors.read().decode())


async def wait_for_exit(process: "Process") -> int:
    # It needs only what both kinds of process have.
    return await subprocesses.wait_for_exit(process)  # type: ignore[arg-type]


def _split_network(argv: Sequence[str]) -> tuple[str, list[str]]:
    """The network namespace and the command of `ip netns exec NAME COMMAND`."""
    if list(argv[1:3]) == ["netns", "exec"]:
        return argv[3], list(argv[4:])
    return "", list(argv)


def _descriptor(stream: IO[bytes] | int) -> int:
    return stream if isinstance(stream, int) else stream.fileno()


@cache
def _server() -> "Server":
    return Server()


class Server:
    def __init__(self) -> None:
        self._connection, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._lock = Lock()
        with theirs:
            self._process = subprocess.Popen(
                [*PYTHON_MODULE, "tests.preloaded.server", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                cwd=ROOT,
                start_new_session=True,
            )

    def start(self, start: Start, descriptors: Sequence[int]) -> "ForkedProcess":
        return ForkedProcess(self, self.request(start, descriptors))

    def request(self, request: Request, descriptors: Sequence[int] = ()) -> int:
        with self._lock:
            socket.send_fds(self._connection, [msgspec.json.encode(request)], descriptors)
            answer = self._connection.recv(1024)
        assert answer, "the server that forks programs has ended"
        return msgspec.json.decode(answer, type=Reply).value


class ForkedProcess:
    """Not a child of this process, so its exit code comes from the server. It stays a zombie until then, so
    that its number is not reused."""

    def __init__(self, server: Server, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self._server, self._handle = server, os.pidfd_open(pid)

    def poll(self) -> int | None:
        if self.returncode is None and self._has_exited(0):
            self._reap()
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        if self.returncode is None:
            if not self._has_exited(timeout):
                raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
            self._reap()
        assert self.returncode is not None
        return self.returncode

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            signal.pidfd_send_signal(self._handle, number)

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def _has_exited(self, timeout: float | None) -> bool:
        return bool(select.select([self._handle], [], [], timeout)[0])

    def _reap(self) -> None:
        self.returncode = self._server.request(Reap(self.pid))
        os.close(self._handle)


Process = subprocess.Popen[bytes] | ForkedProcess
