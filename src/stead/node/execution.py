"""The commands under way: bounded in number and time, tried again when they fail, stopped when cancelled."""

import asyncio
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager

import structlog

from stead.node.commands import carry_out
from stead.node.drivers.ports import Assignment, Drivers, Output, Refusal
from stead.node.journal import Ending, Journal
from stead.protocol.commands import Command, Driver

AT_ONCE = 16
TRIES = 4
FIRST_PAUSE = 0.5

log = structlog.get_logger()

Outputs = Callable[[Command], AbstractAsyncContextManager[Output]]

_Key = tuple[str, str]


class Execution:
    def __init__(
        self,
        journal: Journal,
        drivers: Mapping[Driver, Drivers],
        outputs: Outputs,
        *,
        at_once: int = AT_ONCE,
        first_pause: float = FIRST_PAUSE,
    ) -> None:
        self._journal, self._drivers, self._outputs = journal, drivers, outputs
        self._first_pause = first_pause
        self._tasks: dict[_Key, asyncio.Task[Ending]] = {}
        self._room = asyncio.Semaphore(at_once)
        self.broken: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        """Fails when the journal does: a node that cannot remember must not go on."""

    @property
    def running(self) -> tuple[str, ...]:
        return tuple(f"{job}/{step}" for job, step in self._tasks)

    def start(self, command: Command) -> None:
        key = command.job, command.step
        task = asyncio.create_task(self._run(command), name=f"{command.job}/{command.step}")
        self._tasks[key] = task
        task.add_done_callback(lambda ended: self._ended(key, ended))

    def cancel(self, job: str, step: str) -> None:
        if task := self._tasks.get((job, step)):
            task.cancel()

    async def stop(self) -> None:
        """Ends their processes; in the journal they still run, and the next start goes on with them."""
        for task in self._tasks.values():
            task.cancel()
        if self._tasks:
            await asyncio.wait(set(self._tasks.values()))

    def _ended(self, key: _Key, task: asyncio.Task[Ending]) -> None:
        # In a callback and not in the task: a task that is cancelled before it began runs no line of its own.
        del self._tasks[key]
        try:
            if not task.cancelled():
                self._journal.finish(*key, _ending(task))
            elif self._journal.cancelling(*key):
                self._journal.finish(*key, Ending("cancelled"))
        except sqlite3.Error as error:
            if not self.broken.done():
                self.broken.set_exception(error)

    async def _run(self, command: Command) -> Ending:
        async with self._room, self._outputs(command) as output:
            try:
                async with asyncio.timeout(command.seconds):
                    return await self._tries(command, output)
            except TimeoutError:
                return Ending("refused", "job.timeout", f"not done within {command.seconds:g} s")

    async def _tries(self, command: Command, output: Output) -> Ending:
        task = Assignment(command.job, command.site, command.environment, output)
        pause, failure = self._first_pause, ""
        for remaining in reversed(range(TRIES)):
            try:
                facts = await carry_out(self._drivers[command.driver], command.work, task)
            except Refusal as refusal:
                await output.say(f"refused: {refusal.reason}")
                return Ending("refused", refusal.code, refusal.reason)
            except Exception as error:  # noqa: BLE001
                # Only its kind: what a library says may quote a secret.
                failure = type(error).__name__
                log.warning("command.failed", job=command.job, step=command.step, error=failure)
                if remaining:
                    await output.say(f"failed ({failure}); trying again in {pause:g} s")
                    await asyncio.sleep(pause)
                    pause *= 2
            else:
                return Ending("done", facts=facts)
        return Ending("refused", "internal", f"failed {TRIES} times, the last time with {failure}")


def _ending(task: asyncio.Task[Ending]) -> Ending:
    error = task.exception()
    if error is None:
        return task.result()
    log.error("command.fault", task=task.get_name(), error=type(error).__name__)
    return Ending("refused", "internal", f"failed with {type(error).__name__}")
