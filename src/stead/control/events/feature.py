"""The event feed."""

from functools import partial

from stead.control.events import operations, service
from stead.control.events.sequencer import Sequencer
from stead.control.feature import Feature
from stead.control.tasks import (
    LongRunningTask,
    PeriodicTask,
    Task,
    WorkerServices,
    in_batches,
)


def _tasks(worker: WorkerServices) -> list[Task]:
    sequencer = Sequencer(worker.database, worker.listener, worker.transports, worker.event_catalog)
    return [
        LongRunningTask("events.sequence", sequencer.run),
        PeriodicTask(
            "events.delete_expired", 60, partial(in_batches, worker.database, service.delete_expired)
        ),
    ]


FEATURE = Feature(name="events", operations=[operations.operation], tasks=_tasks, measure=service.measure)
