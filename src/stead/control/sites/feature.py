"""Sites and their lifecycle."""

from functools import partial

from stead.control.feature import Feature
from stead.control.sites import events, operations, service, workflows
from stead.control.tasks import PeriodicTask, Task, WorkerServices, in_batches


def _tasks(worker: WorkerServices) -> list[Task]:
    purge = partial(in_batches, worker.database, service.purge_expired)
    delete = partial(in_batches, worker.database, service.delete_of_closed_accounts)
    return [
        PeriodicTask("sites.purge", 600, purge),
        PeriodicTask("sites.delete_of_closed_accounts", 10, delete),
    ]


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
    events=[
        events.SITE_CREATED,
        events.SITE_STATUS_CHANGED,
        events.SITE_DELETED,
        events.SITE_DELETION_FAILED,
        events.SITE_RECOVERED,
        events.SITE_RECOVERY_FAILED,
        events.SITE_RESTARTED,
        events.SITE_RESTART_FAILED,
        events.SITE_TRANSFERRED,
        events.SITE_UNREACHABLE,
        events.SITE_REACHABLE,
    ],
)
