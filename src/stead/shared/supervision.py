"""Keeps the long-running tasks of a program running, and knows which of them fail.

A task that raises, or that ends although it should not, is logged, counted and started again after a pause.
The pause doubles with every failure, and is short again once the task has run for a while.
"""

import asyncio
import time
import traceback
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from stead.shared.cancellation import cancel_all

log = structlog.get_logger()

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
STABLE_SECONDS = 60.0
"""A task that has run for this long has recovered from its last failure."""
_FRAMES = 4

Run = Callable[[], Awaitable[object]]


class TaskEnded(Exception):
    """A task has ended that should run until the program stops."""


@dataclass
class TaskStatus:
    """The state of a supervised task."""

    failures: int = 0
    """Since the start of the program."""
    consecutive: int = 0
    """Since it last ran without a failure."""
    last_error: str = ""
    started_at: float = 0.0
    repeats: bool = False
    """Whether it consists of short runs, each of which succeeds or fails."""

    def record_failure(self, error: BaseException) -> None:
        self.failures, self.consecutive = self.failures + 1, self.consecutive + 1
        self.last_error = type(error).__name__

    @property
    def is_failing(self) -> bool:
        """Whether the last run failed, and the task has not been running for a while since."""
        has_recovered = not self.repeats and time.monotonic() - self.started_at > STABLE_SECONDS
        return self.consecutive > 0 and not has_recovered


class Supervisor:
    """`expected` are errors of engines that are down: they are logged as warnings."""

    def __init__(
        self,
        on_failure: Callable[[str], None] = lambda _: None,
        *,
        on_start: Callable[[str, TaskStatus], None] = lambda _name, _status: None,
        expected: tuple[type[BaseException], ...] = (),
    ) -> None:
        self._on_failure, self._on_start, self._expected = on_failure, on_start, expected
        self._tasks: list[asyncio.Task[None]] = []
        self.statuses: dict[str, TaskStatus] = {}

    def keep_running(self, name: str, run: Run) -> None:
        """Start a task that must not end."""
        self._start(name, self._keep_running(name, run))

    def run_until_done(self, name: str, run: Run) -> None:
        """Start a task that ends when it has succeeded."""
        self._start(name, self._run_until_done(name, run))

    def repeat(self, name: str, seconds: float, run: Run) -> None:
        """Start a task that is run again so many seconds after it has ended or failed."""
        self._start(name, self._repeat(name, seconds, run))
        self.statuses[name].repeats = True

    @property
    def failing(self) -> dict[str, str]:
        """The tasks that fail at the moment, with the type of their last error."""
        return {name: status.last_error for name, status in self.statuses.items() if status.is_failing}

    async def stop(self) -> None:
        """Cancel all tasks, and wait until they have ended."""
        await cancel_all(self._tasks)

    def _start(self, name: str, work: Awaitable[None]) -> None:
        async def run() -> None:
            await work

        self.statuses[name] = TaskStatus()
        self._on_start(name, self.statuses[name])
        self._tasks.append(asyncio.create_task(run(), name=name))

    async def _keep_running(self, name: str, run: Run) -> None:
        async def run_forever() -> None:
            await run()
            raise TaskEnded

        await self._run_until_done(name, run_forever)

    async def _run_until_done(self, name: str, run: Run) -> None:
        status, pause = self.statuses[name], FIRST_PAUSE
        while True:
            status.started_at = time.monotonic()
            try:
                await run()
            except Exception as error:  # noqa: BLE001 - whatever it is, the task must run again
                if time.monotonic() - status.started_at > STABLE_SECONDS:
                    status.consecutive, pause = 0, FIRST_PAUSE
                self._record_failure(name, error)
                await asyncio.sleep(pause)
                pause = min(2 * pause, LONGEST_PAUSE)
            else:
                status.consecutive = 0
                return

    async def _repeat(self, name: str, seconds: float, run: Run) -> None:
        status = self.statuses[name]
        while True:
            await asyncio.sleep(seconds)
            status.started_at = time.monotonic()
            try:
                await run()
            except Exception as error:  # noqa: BLE001 - a task that failed once must run again
                self._record_failure(name, error)
            else:
                status.consecutive = 0

    def _record_failure(self, name: str, error: Exception) -> None:
        """Log the types and the place of an error, but not its message: it may contain a secret."""
        self.statuses[name].record_failure(error)
        self._on_failure(name)
        if isinstance(error, self._expected):
            log.warning("task.postponed", task=name, reason=type(error).__name__)
            return
        frames = traceback.extract_tb(error.__traceback__)[-_FRAMES:]
        log.error(
            "task.failed",
            task=name,
            errors=_names(error),
            at=[f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames],
        )


def _names(error: BaseException) -> list[str]:
    if isinstance(error, BaseExceptionGroup):
        return [name for inner in error.exceptions for name in _names(inner)]
    return [type(error).__name__]
