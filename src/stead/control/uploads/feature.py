"""Uploads: sources of builds that are not in a repository."""

from functools import partial

from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices
from stead.control.uploads import operations, service


def _tasks(worker: WorkerServices) -> list[Task]:
    remove = partial(service.remove_expired, worker.database, worker.objects)
    sweep = partial(service.remove_unknown, worker.database, worker.objects)
    return [PeriodicTask("uploads.remove", 60, remove), PeriodicTask("uploads.remove_unknown", 3600, sweep)]


FEATURE = Feature(name="uploads", operations=[operations.operation], tasks=_tasks)
