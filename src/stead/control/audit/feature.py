"""The audit trail."""

from functools import partial

from stead.control.audit import operations
from stead.control.feature import Feature
from stead.control.outbox import audit
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_transaction


def _tasks(worker: WorkerServices) -> list[Task]:
    maintain = partial(in_transaction, worker.database, audit.maintain_partitions)
    return [PeriodicTask("audit.partitions", 3600, maintain)]


FEATURE = Feature(name="audit", operations=[operations.operation], tasks=_tasks)
