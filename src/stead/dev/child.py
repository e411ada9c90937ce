"""One engine's process through its life: started and waited for, kept alive, stopped."""

import asyncio
import signal
import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path

import msgspec

from stead.dev.engine import DevError, Engine, surroundings
from stead.dev.identity import ProcessId
from stead.dev.process import Process, Streams, exit_of, spawn

READY_BOUND = 60.0
POLL = 0.05
FIRST_PAUSE, LONGEST_PAUSE = 0.1, 10.0
SETTLED = 30.0
"""After this many seconds of service a death counts as the first again."""
LOG_LIMIT = 16 * 1024 * 1024


class State(StrEnum):
    WAITING = "waiting"
    PREPARING = "preparing"
    STARTING = "starting"
    READY = "ready"
    RESTARTING = "restarting"
    STOPPING = "stopping"
    STOPPED = "stopped"
    FAILED = "failed"


class Condition(msgspec.Struct):
    """What can be said about an engine at a moment."""

    name: str
    port: int
    version: str = ""
    state: State = State.WAITING
    note: str = ""
    process: ProcessId | None = None
    ready_in: float | None = None
    restarts: int = 0


Changed = Callable[[Condition], None]


class DidNotStart(DevError):
    def __init__(self, engine: Engine, why: str, log: Path) -> None:
        super().__init__(f"{engine.name} {why}; the end of {log}:\n{tail(log)}")


class Child:
    def __init__(self, engine: Engine, log: Path, changed: Changed) -> None:
        self.engine, self.log = engine, log
        self.condition = Condition(engine.name, engine.port)
        self._changed = changed
        self._process: Process | None = None
        self._exit: asyncio.Task[int] | None = None
        self._keeper: asyncio.Task[None] | None = None

    def mark(self, state: State, note: str = "") -> None:
        self.condition.state, self.condition.note = state, note
        self._changed(self.condition)

    async def start(self) -> None:
        """Returns when it serves, and keeps it serving from then on."""
        if self._keeper is not None:
            return
        await self._launch()
        self._keeper = asyncio.create_task(self._keep_alive(), name=f"keep {self.engine.name}")

    async def stop(self) -> None:
        await self._let_go()
        await self._end(self.engine.stop_signal)

    async def kill(self) -> None:
        """As a crash would end it, but nobody restarts it."""
        await self._let_go()
        await self._end(signal.SIGKILL)

    async def _let_go(self) -> None:
        if self._keeper is not None:
            self._keeper.cancel()
            await asyncio.wait({self._keeper})
            self._keeper = None

    async def _launch(self) -> None:
        began = time.monotonic()
        self._process = self._spawn()
        self._exit = asyncio.create_task(exit_of(self._process))
        self.condition.process = ProcessId.of(self._process.pid)
        self.condition.ready_in = None
        self.mark(State.STARTING)
        await self._until_ready(self._exit)
        self.condition.ready_in = time.monotonic() - began
        self.mark(State.READY)

    def _spawn(self) -> Process:
        if self.log.exists() and self.log.stat().st_size > LOG_LIMIT:
            self.log.replace(self.log.with_suffix(".log.1"))
        with self.log.open("ab") as log, Path("/dev/null").open("rb") as nothing:
            return spawn(
                self.engine.argv(),
                streams=Streams(nothing, log, log),
                env=surroundings(self.engine.env()),
                user=self.engine.user,
                cwd=self.engine.place.home,
                death_signal=self.engine.death_signal,
            )

    async def _until_ready(self, exit_: asyncio.Task[int]) -> None:
        try:
            async with asyncio.timeout(READY_BOUND):
                # An answer counts only while it lives: somebody else may be answering on its port.
                while not (await self.engine.ready()) or exit_.done():
                    await asyncio.wait({exit_}, timeout=POLL)
                    if exit_.done():
                        raise DidNotStart(self.engine, ending(exit_.result()), self.log)
        except TimeoutError:
            raise DidNotStart(self.engine, f"was not ready within {READY_BOUND:.0f} s", self.log) from None

    async def _keep_alive(self) -> None:
        pause = FIRST_PAUSE
        while self._exit is not None:
            since = time.monotonic()
            await asyncio.wait({self._exit})
            if time.monotonic() - since > SETTLED:
                pause = FIRST_PAUSE
            self.condition.restarts += 1
            self.mark(State.RESTARTING, f"{ending(self._exit.result())}; starting it again in {pause:.1f} s")
            await asyncio.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
            self.engine.tidy()
            try:
                await self._launch()
            except DidNotStart as failure:
                self.mark(State.FAILED, str(failure).partition(";")[0])
                await self._signal_and_wait(signal.SIGKILL)

    async def _end(self, number: signal.Signals) -> None:
        if self._exit is None:
            return
        self.mark(State.STOPPING)
        await self._signal_and_wait(number)
        self._exit, self._process, self.condition.process = None, None, None
        self.engine.tidy()
        self.mark(State.STOPPED)

    async def _signal_and_wait(self, number: signal.Signals) -> None:
        if self._process is None or self._exit is None:
            return
        for what in (number, signal.SIGKILL):
            if not self._exit.done():
                self._process.send_signal(what)
                await asyncio.wait({self._exit}, timeout=self.engine.patience)


def ending(code: int) -> str:
    return f"was ended by {signal.Signals(-code).name}" if code < 0 else f"exited with {code}"


def tail(log: Path, lines: int = 12) -> str:
    if not log.exists():
        return ""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
