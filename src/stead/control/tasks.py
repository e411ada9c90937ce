"""Background tasks of a process, declared by features. They run until the process stops."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from stead.control.edge_feed.announcer import Announcer
from stead.control.engines.nats import NATS_UNREACHABLE, Nats
from stead.control.engines.postgres import DATABASE_UNREACHABLE, Database, Tx
from stead.control.engines.postgres_listener import PostgresListener
from stead.control.engines.redis import RedisDown
from stead.control.jobs.definition import WorkerContext
from stead.control.metrics import worker_tasks
from stead.control.nodes.gateway import Gateway
from stead.control.outbox.event_types import EventCatalog
from stead.control.outbox.transports import Transport
from stead.control.settings import Settings
from stead.shared.metrics import TaskMetrics
from stead.shared.supervision import Supervisor


@dataclass(frozen=True, slots=True)
class PeriodicTask:
    """Runs every `seconds`. A failure is logged, and the task runs again."""

    name: str
    seconds: float
    run: Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class LongRunningTask:
    """Runs until the process stops. It is started again if it raises or ends."""

    name: str
    run: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class PreparationTask:
    """Runs until it succeeds."""

    name: str
    run: Callable[[], Awaitable[None]]


Task = PeriodicTask | LongRunningTask | PreparationTask


@dataclass(frozen=True)
class WorkerServices(WorkerContext):
    """What the tasks of a worker may use."""

    settings: Settings
    listener: PostgresListener
    announcer: Announcer
    gateway: Gateway
    could_hear_nodes_for: Callable[[float], bool]
    """Whether heartbeats of nodes could be recorded, without a break, for at least so many seconds."""
    transports: Sequence[Transport]
    event_catalog: EventCatalog
    nats: Nats


class TaskRunner:
    """Runs tasks under supervision. Failures are counted in the metrics."""

    def __init__(self, tasks: Sequence[Task], metrics: TaskMetrics = worker_tasks) -> None:
        self._declared = tasks
        self._supervisor = Supervisor(
            metrics.count_failure,
            on_start=metrics.watch,
            expected=(*DATABASE_UNREACHABLE, *NATS_UNREACHABLE, RedisDown),
        )

    @property
    def failing(self) -> dict[str, str]:
        """The tasks that fail at the moment, with the type of their last error."""
        return self._supervisor.failing

    def start(self) -> None:
        for task in self._declared:
            match task:
                case LongRunningTask():
                    self._supervisor.keep_running(task.name, task.run)
                case PreparationTask():
                    self._supervisor.run_until_done(task.name, task.run)
                case PeriodicTask():
                    self._supervisor.repeat(task.name, task.seconds, task.run)

    async def stop(self) -> None:
        await self._supervisor.stop()


async def in_transaction(database: Database, do: Callable[[Tx], Awaitable[object]]) -> None:
    async with database.transaction() as tx:
        await do(tx)


async def in_batches(database: Database, do: Callable[[Tx], Awaitable[int]]) -> None:
    """Run batches, each in its own transaction, until one processes nothing."""
    more = True
    while more:
        async with database.transaction() as tx:
            more = await do(tx) > 0
