"""Sites."""

from functools import partial

from stead.control.feature import Feature
from stead.control.sites import operations, service, workflows
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_transaction


def _tasks(worker: WorkerServices) -> list[Task]:
    purge = partial(in_transaction, worker.database, service.purge_expired)
    return [PeriodicTask("sites.purge", 600, purge)]


FEATURE = Feature(
    name="sites",
    operations=[operations.operation],
    resolvers=[service.visible_site],
    id_prefixes={"site_id": "site"},
    workflows=[
        workflows.DEPLOY,
        workflows.RESTART,
        workflows.RECOVER,
        workflows.DELETE,
        workflows.PURGE,
    ],
    tasks=_tasks,
)
