"""Runs programs for drivers: an argv and never a shell, a process group of its own, output as fast as it is
taken, and nothing left of the group when the call returns, however it returns."""

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
from stead.node.uninterrupted import run_uninterrupted

StreamName = Literal["stdout", "stderr"]
Sink = Callable[[StreamName, bytes], Awaitable[None]]
"""Takes the next bytes of a stream; empty ones end it. The program waits while the sink does."""

CHUNK = 64 * 1024
PATIENCE = 3.0
"""Seconds between SIGTERM and SIGKILL."""
LINGER = 1.0
"""How long output may stay silent after the program's end, where a daemon it started holds the pipe."""
_POLL = 0.02

_SURROUNDINGS = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG": "C.UTF-8"}

_Process = subprocess.Popen[bytes]


class Run(Protocol):
    """What a driver is given to touch the machine with; returns the exit code, or minus the signal."""

    async def __call__(
        self,
        argv: Sequence[str],
        sink: Sink,
        *,
        environment: Mapping[str, str] | None = None,
        directory: Path | None = None,
    ) -> int: ...


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
    ) -> int:
        # Nothing of ours is inherited: the agent's own environment holds its NATS password.
        given = {**_SURROUNDINGS, **(environment or {}), VARIABLE: self._token}
        process = _spawn(argv, given, directory or Path("/"))
        try:
            return await _followed(process, sink)
        except BaseException:
            await run_uninterrupted(_end_group(process))
            raise


def _spawn(argv: Sequence[str], environment: Mapping[str, str], directory: Path) -> _Process:
    return subprocess.Popen(
        list(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        cwd=directory,
        start_new_session=True,
    )


async def _followed(process: _Process, sink: Sink) -> int:
    assert process.stdout is not None  # noqa: S101
    assert process.stderr is not None  # noqa: S101
    pumps = [await _Pump.of("stdout", process.stdout, sink), await _Pump.of("stderr", process.stderr, sink)]
    try:
        async with asyncio.TaskGroup() as tasks:
            moving = [tasks.create_task(pump.run()) for pump in pumps]
            code = await _exit_of(process)
            # What it left in the background goes with it, and lets go of the pipes.
            await _end_group(process)
            while any(not task.done() for task in moving):
                await asyncio.wait(moving, timeout=LINGER)
                for pump in pumps:
                    pump.close_if_silent()
    finally:
        for pump in pumps:
            pump.close()
    return code


class _Pump:
    def __init__(
        self, stream: StreamName, reader: asyncio.StreamReader, transport: asyncio.ReadTransport, sink: Sink
    ) -> None:
        self._stream, self._reader, self._transport, self._sink = stream, reader, transport, sink
        self._waiting = False

    @classmethod
    async def of(cls, stream: StreamName, pipe: IO[bytes], sink: Sink) -> "_Pump":
        reader = asyncio.StreamReader(limit=CHUNK)
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), pipe
        )
        return cls(stream, reader, transport, sink)

    async def run(self) -> None:
        while chunk := await self._next():
            await self._sink(self._stream, chunk)
        await self._sink(self._stream, b"")

    async def _next(self) -> bytes:
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


async def _exit_of(process: _Process) -> int:
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    handle = os.pidfd_open(process.pid)
    loop.add_reader(handle, ended.set)
    try:
        await ended.wait()
    finally:
        loop.remove_reader(handle)
        os.close(handle)
    return process.wait()


async def _end_group(process: _Process) -> None:
    """Returns when no process of the group runs."""
    for number in itertools.chain([signal.SIGTERM], itertools.repeat(signal.SIGKILL)):
        if not group_alive(process.pid):
            break
        _signal(process.pid, number)
        await _group_gone(process)
    process.poll()


async def _group_gone(process: _Process) -> None:
    """Returns then, or when patience ends."""
    until = time.monotonic() + PATIENCE
    while group_alive(process.pid) and time.monotonic() < until:
        await asyncio.sleep(_POLL)
        process.poll()


def _signal(group: int, number: signal.Signals) -> None:
    try:
        os.killpg(group, number)
    except ProcessLookupError:
        return
