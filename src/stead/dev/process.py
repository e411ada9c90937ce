"""Starting a process that cannot outlive us, waiting for its end, and running one to its end."""

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

from stead.dev.identity import as_user, readable

PR_SET_PDEATHSIG = 1
RUN_BOUND = 180.0

_libc = ctypes.CDLL(None, use_errno=True)

Process = subprocess.Popen[bytes]


@dataclass(frozen=True)
class Finished:
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
    """Must be called by the thread that lives as long as we do: the kernel watches that one."""
    return subprocess.Popen(
        list(argv),
        stdin=streams.input,
        stdout=streams.output,
        stderr=streams.errors,
        env=env,
        cwd=cwd or Path("/"),
        # Out of the terminal's process group: Ctrl-C is for us, and we stop our children in order.
        start_new_session=True,
        preexec_fn=_die_with(os.getpid(), death_signal),
        **as_user(user),
    )


def _die_with(parent: int, number: signal.Signals) -> Callable[[], None]:
    def before_exec() -> None:
        _libc.prctl(PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        # We may have died before the line above took hold.
        if os.getppid() != parent:
            os._exit(1)

    return before_exec


async def exit_of(process: Process) -> int:
    """Its exit status, or minus the signal that ended it."""
    handle = os.pidfd_open(process.pid)
    try:
        await readable(handle)
    finally:
        os.close(handle)
    return process.wait()


async def run(
    argv: Sequence[str],
    *,
    said: str = "",
    env: Mapping[str, str] | None = None,
    user: str | None = None,
    cwd: Path | None = None,
) -> Finished:
    """Runs a command to its end; being cancelled ends the command."""
    scratch = tempfile.TemporaryFile
    with scratch() as given, scratch() as output, scratch() as errors:
        given.write(said.encode())
        given.seek(0)
        process = spawn(argv, streams=Streams(given, output, errors), env=env, user=user, cwd=cwd)
        try:
            async with asyncio.timeout(RUN_BOUND):
                code = await exit_of(process)
        finally:
            if process.returncode is None:
                process.kill()
                process.wait()
        output.seek(0)
        errors.seek(0)
        return Finished(code, output.read().decode(errors="replace"), errors.read().decode(errors="replace"))
