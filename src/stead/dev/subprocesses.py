"""Starts processes that cannot outlive this one, and runs commands."""

import asyncio
import ctypes
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from stead.dev.process_identity import credentials_of, wait_until_readable

PR_SET_PDEATHSIG = 1
RUN_TIMEOUT = 180.0

_libc = ctypes.CDLL(None, use_errno=True)

Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class CompletedCommand:
    code: int
    output: str
    errors: str


@dataclass(frozen=True)
class Streams:
    input: IO[bytes] | int
    output: IO[bytes] | int
    errors: IO[bytes] | int


def spawn(
    argv: Sequence[str],
    *,
    streams: Streams,
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    cwd: Path | None = None,
    death_signal: signal.Signals = signal.SIGKILL,
) -> Process:
    """Starts a process that gets `death_signal` when this one dies. Must be called by a thread that lives as
    long as this process, because the kernel watches the thread."""
    return subprocess.Popen(
        list(argv),
        stdin=streams.input,
        stdout=streams.output,
        stderr=streams.errors,
        env=env,
        cwd=cwd or Path("/"),
        # Outside the terminal's process group: Ctrl-C reaches only this process, which stops its children in
        # the right order.
        start_new_session=True,
        preexec_fn=_request_death_signal(os.getpid(), death_signal),
        **credentials_of(user),
    )


def _request_death_signal(parent: int, number: signal.Signals) -> Callable[[], None]:
    def before_exec() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        # The parent may have died before the call took effect.
        if os.getppid() != parent:
            os._exit(1)

    return before_exec


async def wait_for_exit(process: Process) -> int:
    """Returns the exit code, or the negative number of the signal that ended the process."""
    handle = os.pidfd_open(process.pid)
    try:
        await wait_until_readable(handle)
    finally:
        os.close(handle)
    return process.wait()


async def run(
    argv: Sequence[str],
    *,
    stdin: str = "",
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    cwd: Path | None = None,
) -> CompletedCommand:
    """Runs a command and waits for it. Cancelling the task kills the command."""
    scratch = tempfile.TemporaryFile
    with scratch() as given, scratch() as output, scratch() as errors:
        given.write(stdin.encode())
        given.seek(0)
        process = spawn(argv, streams=Streams(given, output, errors), env=env, user=user, cwd=cwd)
        try:
            async with asyncio.timeout(RUN_TIMEOUT):
                code = await wait_for_exit(process)
        finally:
            if process.returncode is None:
                process.kill()
                process.wait()
        output.seek(0)
        errors.seek(0)
        return CompletedCommand(
            code, output.read().decode(errors="replace"), errors.read().decode(errors="replace")
        )
