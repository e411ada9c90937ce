"""The request path: deletes expired idempotency records."""

from functools import partial

from stead.control.feature import Feature
from stead.control.http import idempotency
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    delete = partial(in_batches, worker.database, idempotency.delete_expired)
    return [PeriodicTask("idempotency.delete_expired", 60, delete)]


FEATURE = Feature(name="http", tasks=_tasks)
