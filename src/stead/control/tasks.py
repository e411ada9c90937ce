"""Background tasks of a process, declared by features. They run until the process stops."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog

from stead.control.edge_feed.announcer import Announcer
from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database, Tx
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.engines.redis import RedisDown
from stead.control.jobs.definition import WorkerContext
from stead.control.outbox.event_types import EventCatalog
from stead.control.outbox.transports import Transport
from stead.control.settings import Settings

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """Runs every `seconds`. A failure is logged, and the task runs again."""

    name: str
    seconds: float
    run: Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class LongRunningTask:
    """Runs until the process stops."""

    name: str
    run: Callable[[], Awaitable[None]]


Task = PeriodicTask | LongRunningTask


@dataclass(frozen=True)
class WorkerServices(WorkerContext):
    """What the tasks of a worker may use."""

    settings: Settings
    listener: PostgresListener
    announcer: Announcer
    transports: Sequence[Transport]
    event_catalog: EventCatalog


class TaskRunner:
    def __init__(self, tasks: Sequence[Task]) -> None:
        self._declared = tasks
        self._running: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._running = [asyncio.create_task(_run(task), name=task.name) for task in self._declared]

    async def stop(self) -> None:
        """Cancel all tasks, repeatedly: a library may swallow a cancellation that arrives with a response."""
        pending = set(self._running)
        while pending:
            for task in pending:
                task.cancel()
            _, pending = await asyncio.wait(pending, timeout=1)


async def _run(task: Task) -> None:
    if isinstance(task, LongRunningTask):
        await task.run()
        return
    while True:
        await asyncio.sleep(task.seconds)
        try:
            await task.run()
        except (*DATABASE_UNREACHABLE, RedisDown) as error:
            log.warning("task.postponed", task=task.name, reason=type(error).__name__)
        except Exception as error:  # noqa: BLE001 - a task that failed once must run again
            log.error("task.failed", task=task.name, error=type(error).__name__)


async def in_transaction(database: Database, do: Callable[[Tx], Awaitable[object]]) -> None:
    async with database.transaction() as tx:
        await do(tx)


async def in_batches(database: Database, do: Callable[[Tx], Awaitable[int]]) -> None:
    """Run batches, each in its own transaction, until one processes nothing."""
    more = True
    while more:
        async with database.transaction() as tx:
            more = await do(tx) > 0
