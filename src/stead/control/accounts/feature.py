"""Accounts, passwords and sessions."""

from functools import partial

from stead.control.accounts import operations, service
from stead.control.feature import Feature
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_transaction


def _tasks(worker: WorkerServices) -> list[Task]:
    delete = partial(in_transaction, worker.database, service.delete_old_sessions)
    return [PeriodicTask("sessions.delete_old", 3600, delete)]


FEATURE = Feature(
    name="accounts",
    operations=[operations.operation],
    id_prefixes={"client_id": "client"},
    tasks=_tasks,
)
