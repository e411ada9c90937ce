"""Artifacts: the signed results of builds."""

from functools import partial

from stead.control.artifacts import garbage_collection, operations
from stead.control.artifacts.signing_keys import key_context
from stead.control.feature import Feature
from stead.control.sealed_columns import SealedColumn
from stead.control.tasks import PeriodicTask, Task, WorkerServices


def _tasks(worker: WorkerServices) -> list[Task]:
    collect = partial(garbage_collection.collect_garbage, worker.database, worker.objects)
    return [PeriodicTask("artifacts.collect", 600, collect)]


FEATURE = Feature(
    name="artifacts",
    operations=[operations.operation],
    tasks=_tasks,
    sealed_columns=[SealedColumn("signing_keys", "id", "sealed", key_context)],
)
