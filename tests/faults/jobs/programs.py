"""Programs as processes that a test may kill, and waiting with a bound."""

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from stead.dev.subprocesses import Streams
from stead.dev.supervised_program import clean_environment
from tests.patience import Patience, time_limit
from tests.preloaded.processes import Process, spawn, wait_for_exit

ROOT = Path(__file__).parents[3]
BOUND = 60.0
POLL = 0.05
STOP_SECONDS = 15.0

T = TypeVar("T")


async def until(
    look: Callable[..., Awaitable[T | None]],
    what: str,
    *args: object,
    bound: float = BOUND,
    poll: float = POLL,
) -> T:
    """Call `look` with these arguments until it returns something, and return that."""
    patience = Patience(bound)
    while not (found := await look(*args)):
        assert not patience.is_over, f"not within {bound:g} s of an idle machine: {what}"
        await asyncio.sleep(poll)
    return found


def python_path() -> str:
    """Lets a program of the tests import the tests."""
    return f"{ROOT}:{os.environ.get('PYTHONPATH', '')}"


class Program:
    def __init__(self, argv: Sequence[str], settings: Mapping[str, str], log: Path) -> None:
        self._argv, self._settings, self._log = argv, dict(settings), log
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "it was never started"
        return self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, **changed: str) -> None:
        """Start it, with some settings changed."""
        assert not self.is_running
        with self._log.open("ab") as log, Path("/dev/null").open("rb") as nothing:
            self._process = spawn(
                self._argv,
                streams=Streams(nothing, log, log),
                env=clean_environment(self._settings | changed),
            )

    def count_log_events(self, event: str) -> int:
        """How often it has logged this event since its first start."""
        return self._log.read_text().count(f'"event":"{event}"')

    async def kill(self) -> None:
        """End it like a crash. The process is gone when this returns."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> None:
        if self._process is None or not self.is_running:
            return
        self._process.send_signal(number)
        try:
            async with time_limit(STOP_SECONDS):
                await wait_for_exit(self._process)
        except TimeoutError:
            self._process.kill()
            self._process.wait()
            raise
