"""The databases of WordPress sites."""

from functools import partial

from stead.control.database import operations, service, workflows
from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices


def _tasks(worker: WorkerServices) -> list[Task]:
    remove = partial(service.remove_expired, worker.database, worker.objects)
    sweep = partial(service.remove_unknown, worker.database, worker.objects)
    return [
        PeriodicTask("exports.remove", 60, remove),
        PeriodicTask("exports.remove_unknown", 3600, sweep),
    ]


FEATURE = Feature(
    name="database", operations=[operations.operation], workflows=[workflows.EXPORT], tasks=_tasks
)
