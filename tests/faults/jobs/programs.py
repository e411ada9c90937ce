"""Our programs as processes that a test may kill, and what it waits for with a bound."""

import asyncio
import signal
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from stead.dev.subprocesses import Process, Streams, wait_for_exit
from stead.dev.supervised_program import clean_environment
from tests.patience import Patience, time_limit
from tests.preloaded.processes import spawn

BOUND = 60.0
POLL = 0.05
PATIENCE = 15.0

T = TypeVar("T")


async def until(
    look: Callable[..., Awaitable[T | None]],
    what: str,
    *args: object,
    bound: float = BOUND,
    poll: float = POLL,
) -> T:
    """What `look` returns with these arguments, as soon as it returns something."""
    patience = Patience(bound)
    while not (found := await look(*args)):
        assert not patience.is_over, f"within {bound:g} s of an idle machine: {what}"
        await asyncio.sleep(poll)
    return found


class Program:
    def __init__(self, argv: Sequence[str], settings: Mapping[str, str], log: Path) -> None:
        self._argv, self._settings, self._log = argv, dict(settings), log
        self._process: Process | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None, "it was never started"
        return self._process.pid

    @property
    def runs(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, **changed: str) -> None:
        assert not self.runs
        with self._log.open("ab") as log, Path("/dev/null").open("rb") as nothing:
            self._process = spawn(
                self._argv,
                streams=Streams(nothing, log, log),
                env=clean_environment(self._settings | changed),
            )

    def said(self, event: str) -> int:
        """How often it has logged this, over all its lives."""
        return self._log.read_text().count(f'"event":"{event}"')

    async def kill(self) -> None:
        """As a crash would end it; nothing of it is left when this returns."""
        await self._end(signal.SIGKILL)

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> None:
        if self._process is None or not self.runs:
            return
        self._process.send_signal(number)
        try:
            async with time_limit(PATIENCE):
                await wait_for_exit(self._process)
        except TimeoutError:
            self._process.kill()
            self._process.wait()
            raise
