"""Artifacts: signed build output."""

from functools import partial

from stead.control.artifacts import collecting, operations
from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices


def _tasks(worker: WorkerServices) -> list[Task]:
    collect = partial(collecting.collect, worker.database, worker.objects)
    return [PeriodicTask("artifacts.collect", 600, collect)]


FEATURE = Feature(name="artifacts", operations=[operations.operation], tasks=_tasks)
