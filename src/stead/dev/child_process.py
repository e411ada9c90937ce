"""The process of one supervised program: started, restarted after a crash, and stopped."""

import asyncio
import signal
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import msgspec

from stead.dev.errors import DevError
from stead.dev.process_identity import ProcessId
from stead.dev.subprocesses import Process, Streams, spawn, wait_for_exit
from stead.dev.supervised_program import SupervisedProgram, clean_environment

POLL_INTERVAL = 0.05
FIRST_DELAY, LONGEST_DELAY = 0.1, 10.0
STABLE_AFTER = 30.0
"""After this many seconds of uptime, a crash counts as the first one again."""
LOG_LIMIT = 16 * 1024 * 1024


class ChildState(StrEnum):
    WAITING = "waiting"
    PREPARING = "preparing"
    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


class ChildStatus(msgspec.Struct):
    name: str
    port: int
    version: str = ""
    state: ChildState = ChildState.WAITING
    note: str = ""
    process: ProcessId | None = None
    ready_in: float | None = None
    restarts: int = 0


StatusListener = Callable[[ChildStatus], None]


class StartFailed(DevError):
    def __init__(self, program: SupervisedProgram, reason: str, log: Path) -> None:
        super().__init__(f"{program.name} {reason}; the end of {log}:\n{read_tail(log)}")


class ChildProcess:
    def __init__(self, program: SupervisedProgram, log: Path, on_change: StatusListener) -> None:
        self.program, self.log = program, log
        self.status = ChildStatus(program.name, program.port)
        self._on_change = on_change
        self._process: Process | None = None
        self._exit: asyncio.Task[int] | None = None
        self._restarter: asyncio.Task[None] | None = None

    def set_state(self, state: ChildState, note: str = "") -> None:
        self.status.state, self.status.note = state, note
        self._on_change(self.status)

    async def start(self) -> None:
        """Returns when the program is ready. From then on it is restarted whenever it exits."""
        if self._restarter is not None:
            return
        await self._launch()
        self._restarter = asyncio.create_task(self._restart_on_exit(), name=f"restart {self.program.name}")

    async def stop(self) -> None:
        await self._cancel_restarts()
        await self._end(self.program.stop_signal)

    async def kill(self) -> None:
        """Ends the process like a crash, but does not restart it."""
        await self._cancel_restarts()
        await self._end(signal.SIGKILL)

    async def _cancel_restarts(self) -> None:
        if self._restarter is not None:
            self._restarter.cancel()
            await asyncio.wait({self._restarter})
            self._restarter = None

    async def _launch(self) -> None:
        launched_at = time.monotonic()
        self._process = self._spawn()
        self._exit = asyncio.create_task(wait_for_exit(self._process))
        self.status.process = ProcessId.of(self._process.pid)
        self.status.ready_in = None
        self.set_state(ChildState.STARTING)
        await self._wait_until_ready(self._exit)
        self.status.ready_in = time.monotonic() - launched_at
        self.set_state(ChildState.READY)

    def _spawn(self) -> Process:
        if self.log.exists() and self.log.stat().st_size > LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as log, Path("/dev/null").open("rb") as nothing:
            return spawn(
                self.program.command(),
                streams=Streams(nothing, log, log),
                env=clean_environment(self.program.process_environment()),
                user=self.program.user,
                cwd=self.program.instance.home,
                death_signal=self.program.death_signal,
            )

    async def _wait_until_ready(self, exit_: asyncio.Task[int]) -> None:
        timeout = self.program.ready_timeout
        try:
            async with asyncio.timeout(timeout):
                # A reply counts only while the process lives: another process may listen on the port.
                while not (await self.program.is_ready()) or exit_.done():
                    await asyncio.wait({exit_}, timeout=POLL_INTERVAL)
                    if exit_.done():
                        raise StartFailed(self.program, describe_exit(exit_.result()), self.log)
        except TimeoutError:
            raise StartFailed(self.program, f"was not ready within {timeout:.0f} s", self.log) from None

    async def _restart_on_exit(self) -> None:
        delay = FIRST_DELAY
        while self._exit is not None:
            ready_at = time.monotonic()
            await asyncio.wait({self._exit})
            if time.monotonic() - ready_at > STABLE_AFTER:
                delay = FIRST_DELAY
            self.status.restarts += 1
            reason = describe_exit(self._exit.result())
            self.set_state(ChildState.RESTARTING, f"{reason}; starting it again in {delay:.1f} s")
            await asyncio.sleep(delay)
            delay = min(delay * 2, LONGEST_DELAY)
            self.program.clean_up()
            try:
                await self._launch()
            except StartFailed as failure:
                self.set_state(ChildState.FAILED, str(failure).partition(";")[0])
                await self._signal_and_wait(signal.SIGKILL)

    async def _end(self, number: signal.Signals) -> None:
        if self._exit is None:
            return
        self.set_state(ChildState.STOPPING)
        await self._signal_and_wait(number)
        self._exit, self._process, self.status.process = None, None, None
        self.program.clean_up()
        self.set_state(ChildState.STOPPED)

    async def _signal_and_wait(self, number: signal.Signals) -> None:
        if self._process is None or self._exit is None:
            return
        for each in (number, signal.SIGKILL):
            if not self._exit.done():
                self._process.send_signal(each)
                await asyncio.wait({self._exit}, timeout=self.program.stop_timeout)


def describe_exit(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"


def read_tail(log: Path, lines: int = 12) -> str:
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
