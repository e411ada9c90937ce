"""Runs programs for drivers: an argv and never a shell, in a process group of its own, with output at the
speed of the reader. When the call returns, in whatever way, no process of the group is left."""

import asyncio
import itertools
import os
import signal
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Literal, Protocol

from stead.node.leftovers import VARIABLE, group_alive
from stead.node.process_end import wait_until_ended
from stead.node.uninterrupted import run_uninterrupted

StreamName = Literal["stdout", "stderr"]
Sink = Callable[[StreamName, bytes], Awaitable[None]]
"""Receives the next bytes of a stream; empty bytes end it. A slow sink slows the program down."""

CHUNK = 64 * 1024
TERMINATE_SECONDS = 3.0
"""Seconds between SIGTERM and SIGKILL."""
LINGER_SECONDS = 1.0
"""How long to wait for more output after the program ended, if a daemon that it started still has the
pipe."""
_POLL_SECONDS = 0.02

_BASE_ENVIRONMENT = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
}

_Process = subprocess.Popen[bytes]


class Run(Protocol):
    """Runs a program and returns its exit code, or the negative number of the signal that ended it. Drivers
    use nothing else to start programs."""

    async def __call__(
        self,
        argv: Sequence[str],
        sink: Sink,
        *,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> int:
        """`stdin` is a descriptor that the program reads; otherwise it has no input. `stdout` is one that it
        writes to, instead of to the sink."""
        ...


class Processes:
    def __init__(self, token: str) -> None:
        self._token = token

    async def run(
        self,
        argv: Sequence[str],
        sink: Sink,
        *,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
        stdin: int | None = None,
        stdout: int | None = None,
    ) -> int:
        # The agent's own environment is not inherited: it contains the NATS password.
        variables = {**_BASE_ENVIRONMENT, **(environment or {}), VARIABLE: self._token}
        process = _spawn(argv, variables, directory or Path("/"), stdin, stdout)
        try:
            return await _run_to_end(process, sink)
        except BaseException:
            await run_uninterrupted(_end_group(process))
            raise


def _spawn(
    argv: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    source: int | None,
    target: int | None,
) -> _Process:
    return subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL if source is None else source,
        stdout=subprocess.PIPE if target is None else target,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=directory,
        start_new_session=True,
    )


async def _run_to_end(process: _Process, sink: Sink) -> int:
    streams: dict[StreamName, IO[bytes] | None] = {"stdout": process.stdout, "stderr": process.stderr}
    pumps = [await _Pump.connect(name, pipe, sink) for name, pipe in streams.items() if pipe is not None]
    try:
        async with asyncio.TaskGroup() as tasks:
            copying = [tasks.create_task(pump.run()) for pump in pumps]
            code = await _wait_for_exit(process)
            # End what it left in the background, which may still have the pipes open.
            await _end_group(process)
            while any(not task.done() for task in copying):
                await asyncio.wait(copying, timeout=LINGER_SECONDS)
                for pump in pumps:
                    pump.close_if_silent()
    finally:
        for pump in pumps:
            pump.close()
    return code


class _Pump:
    """Copies one output stream of a program to the sink."""

    def __init__(
        self, stream: StreamName, reader: asyncio.StreamReader, transport: asyncio.ReadTransport, sink: Sink
    ) -> None:
        self._stream, self._reader, self._transport, self._sink = stream, reader, transport, sink
        self._waiting = False

    @classmethod
    async def connect(cls, stream: StreamName, pipe: IO[bytes], sink: Sink) -> "_Pump":
        reader = asyncio.StreamReader(limit=CHUNK)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        return cls(stream, reader, transport, sink)

    async def run(self) -> None:
        while chunk := await self._read():
            await self._sink(self._stream, chunk)
        await self._sink(self._stream, b"")

    async def _read(self) -> bytes:
        self._waiting = True
        try:
            return await self._reader.read(CHUNK)
        finally:
            self._waiting = False

    def close_if_silent(self) -> None:
        if self._waiting:
            self.close()

    def close(self) -> None:
        self._transport.close()


async def _wait_for_exit(process: _Process) -> int:
    await wait_until_ended(process.pid)
    return process.wait()


async def _end_group(process: _Process) -> None:
    """Return when no process of the group runs."""
    for number in itertools.chain([signal.SIGTERM], itertools.repeat(signal.SIGKILL)):
        if not group_alive(process.pid):
            break
        _signal(process.pid, number)
        await _wait_for_group(process)
    process.poll()


async def _wait_for_group(process: _Process) -> None:
    """Return when no process of the group runs, or after TERMINATE_SECONDS."""
    until = time.monotonic() + TERMINATE_SECONDS
    while group_alive(process.pid) and time.monotonic() < until:
        await asyncio.sleep(_POLL_SECONDS)
        process.poll()


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return
