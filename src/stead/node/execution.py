"""Executes commands: limits their number and time, repeats them when they fail, stops them when cancelled."""

import asyncio
import sqlite3
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext

import structlog

from stead.node import metrics
from stead.node.drivers.driver import Assignment, Output, Refusal
from stead.node.drivers.driver_set import DriverSets
from stead.node.journal import Journal, StepEnd
from stead.node.transfer import StoreUnavailable
from stead.node.work_opener import OpenWork, work_opener
from stead.protocol.commands import Command
from stead.protocol.work.base import tag_of
from stead.shared.cancellation import raise_if_cancelled

MAX_RUNNING = 16
ATTEMPTS = 4
FIRST_PAUSE = 0.5

log = structlog.get_logger()

Outputs = Callable[[Command], AbstractAsyncContextManager[Output]]

_Key = tuple[str, str]


class Execution:
    def __init__(
        self,
        journal: Journal,
        drivers: DriverSets,
        outputs: Outputs,
        *,
        open_work: OpenWork | None = None,
        max_running: int = MAX_RUNNING,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        self._journal, self._drivers, self._outputs = journal, drivers, outputs
        self._open_work = open_work or work_opener(None)
        self._first_pause = first_pause
        self._tasks: dict[_Key, asyncio.Task[StepEnd]] = {}
        self._slots = asyncio.Semaphore(max_running)
        self._stopped = False
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails when the journal fails: a node that cannot record must not continue."""

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(f"{job}/{step}" for job, step in self._tasks)

    def start(self, command: Command) -> None:
        if self._stopped:
            return
        key = command.job, command.step
        kind, began = tag_of(type(command.work)), time.monotonic()
        metrics.commands_running.labels(kind).inc()
        task = asyncio.create_task(self._run(command), name=f"{command.job}/{command.step}")
        self._tasks[key] = task
        task.add_done_callback(lambda ended: self._record_end(key, ended))
        task.add_done_callback(lambda ended: _count_end(kind, time.monotonic() - began, ended))

    def cancel(self, job: str, step: str) -> None:
        if self._stopped:
            return  # it is ending already, and must not be interrupted at that
        if task := self._tasks.get((job, step)):
            task.cancel()

    async def stop(self, seconds: float | None = None) -> None:
        """End all processes and start no other, and return when they have ended or after so many seconds. The
        journal still lists the steps as running, so the next start of the node resumes them, as well as those
        that arrive from now on."""
        if not self._stopped:
            self._stopped = True
            for task in self._tasks.values():
                task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks.values()), timeout=seconds)

    def _record_end(self, key: _Key, task: asyncio.Task[StepEnd]) -> None:
        # A callback, because a task that is cancelled before it starts never runs its own code.
        del self._tasks[key]
        try:
            if not task.cancelled():
                self._journal.finish(*key, _end_of(task))
            elif self._journal.is_cancelling(*key):
                self._journal.finish(*key, StepEnd("cancelled"))
        except sqlite3.Error as error:
            if not self.broken.done():
                self.broken.set_exception(error)

    async def _run(self, command: Command) -> StepEnd:
        async with self._slot_for(command), self._outputs(command) as output:
            try:
                async with asyncio.timeout(command.seconds):
                    return await self._attempt(command, output)
            except TimeoutError:
                return StepEnd("refused", "job.timeout", f"not done within {command.seconds:g} s")

    def _slot_for(self, command: Command) -> AbstractAsyncContextManager[None]:
        """A build waits for one of the few workspaces of its driver. It must not take a slot meanwhile: a few
        waiting builds would keep every deployment on the node from starting."""
        waits_elsewhere = command.work.waits_elsewhere and command.driver == "live"
        return nullcontext() if waits_elsewhere else self._slots

    async def _attempt(self, command: Command, output: Output) -> StepEnd:
        task = Assignment(command.job, command.site, command.environment, output, command.step)
        pause, failure = self._first_pause, ""
        for remaining in reversed(range(ATTEMPTS)):
            try:
                value = await self._drivers[command.driver].perform(self._open_work(command), task)
            except Refusal as refusal:
                await output.say(f"refused: {refusal.reason}")
                return StepEnd("refused", refusal.code, refusal.reason)
            except StoreUnavailable:
                # The transfer has waited for it already.
                return StepEnd("refused", "internal", "the object store is not available")
            except Exception as error:  # noqa: BLE001
                raise_if_cancelled()
                # Only the type of the error: a library's message may quote a secret.
                failure = type(error).__name__
                log.warning("command.failed", job=command.job, step=command.step, error=failure)
                if remaining:
                    await output.say(f"failed ({failure}); trying again in {pause:g} s")
                    await asyncio.sleep(pause)
                    pause *= 2
            else:
                return StepEnd("done", value=value)
        return StepEnd("refused", "internal", f"failed {ATTEMPTS} times, the last time with {failure}")


def _count_end(kind: str, seconds: float, task: asyncio.Task[StepEnd]) -> None:
    metrics.commands_running.labels(kind).dec()
    metrics.command_seconds.labels(kind).observe(seconds)
    if task.cancelled():
        code = "cancelled"
    elif task.exception() is not None:
        code = "internal"
    else:
        code = task.result().code or task.result().outcome
    metrics.commands_ended.labels(kind, code).inc()


def _end_of(task: asyncio.Task[StepEnd]) -> StepEnd:
    error = task.exception()
    if error is None:
        return task.result()
    log.error("command.fault", task=task.get_name(), error=type(error).__name__)
    return StepEnd("refused", "internal", f"failed with {type(error).__name__}")
