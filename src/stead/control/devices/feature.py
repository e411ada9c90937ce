"""Signing in on devices without a browser."""

from functools import partial

from stead.control.devices import operations, service
from stead.control.devices.pages import consent_routes
from stead.control.devices.rules import sealing_context
from stead.control.feature import Feature
from stead.control.sealed_columns import SealedColumn
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    delete = partial(in_batches, worker.database, service.delete_expired)
    return [PeriodicTask("device_authorizations.delete_expired", 60, delete)]


FEATURE = Feature(
    name="devices",
    operations=[operations.operation],
    sealed_columns=[SealedColumn("device_authorizations", "id", "sealed_secret", sealing_context)],
    pages=consent_routes,
    tasks=_tasks,
)
