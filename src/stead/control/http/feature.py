"""The request path itself."""

from functools import partial

from stead.control.feature import Feature
from stead.control.http import idempotency
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_transaction


def _tasks(worker: WorkerServices) -> list[Task]:
    forget = partial(in_transaction, worker.database, idempotency.forget_old)
    return [PeriodicTask("idempotency.forget", 60, forget)]


FEATURE = Feature(name="http", tasks=_tasks)
