"""Signing in on devices without a browser."""

from functools import partial

from stead.control.devices import operations, service
from stead.control.devices.pages import consent_routes
from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    delete = partial(in_batches, worker.database, service.delete_expired)
    return [PeriodicTask("device_authorizations.delete_expired", 60, delete)]


FEATURE = Feature(
    name="devices",
    operations=[operations.operation],
    pages=consent_routes,
    tasks=_tasks,
)
